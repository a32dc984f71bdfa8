import { type ModelRequest, type Reply, says } from '../../test/fakes/model-server.ts';

export type Kind = 'plain' | 'tool';

/** Says what network the sandbox has. */
const lookCommand = 'echo "proxy: $http_proxy"';
/** Ids of calls are never used twice in a conversation. */
let lastCall = 0;

/** Whether the sandbox of a tool call had the proxy of a restricted network; undefined before the first call. */
export class NetworkSeen {
  isRestricted: boolean | undefined;
}

export function questionText(number: number, kind: Kind): string {
  return `A ${kind} message: number ${number}.`;
}

/** The model: calls the terminal tool once when a message says so, then names all numbers that no answer has named yet. */
export function answering(seen: NetworkSeen): (request: ModelRequest) => Reply {
  return ({ messages, last }) => {
    if (last.role === 'tool') seen.isRestricted ??= /proxy: http/.test(last.text);
    const from = messages.findLastIndex(({ role, text }) => role === 'assistant' && text.trim() !== '');
    const heard = messages.slice(from + 1).filter(({ role }) => role === 'user');
    const needsTool = last.role === 'user' && heard.some(({ text }) => text.includes('A tool message'));
    if (needsTool)
      return {
        pieces: [
          { call: 'terminal', input: { command: seen.isRestricted === undefined ? lookCommand : 'true' }, id: `call_${++lastCall}` },
        ],
      };
    const numbers = heard.flatMap(({ text }) => [...text.matchAll(/number (\d+)\./g)].map(([, number]) => `n${number}`));
    return says(`Answer to ${numbers.join(' ')}.`);
  };
}

/** The numbers that an answer names; empty for anything else that the bot says. */
export function numbersIn(text: string): number[] {
  if (!text.includes('Answer to n')) return [];
  return [...text.matchAll(/\bn(\d+)\b/g)].map(([, number]) => Number(number));
}

export function isMarkedRepeat(text: string): boolean {
  return text.startsWith('(possible repeat)');
}
