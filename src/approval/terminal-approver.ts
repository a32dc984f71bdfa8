import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import type { Answer, Approver, Question } from '../core/approval.ts';
import { parseDuration } from '../lib/duration.ts';
import { Lane } from '../lib/lanes.ts';
import { questionText } from './question-text.ts';

export interface TerminalOptions {
  /** A terminal, from which lines are read. */
  input: Readable;
  output: Writable;
  /** Who sits there. */
  by: string;
  /** A program that runs has the terminal too. What is typed so soon after a question is shown was meant for it. */
  typedAheadMs?: number | undefined;
}

const choices = 'o once, s for this session, a always (or: a 30d), d deny (or: d and why)';
const maxAttempts = 3;
/** Security: a program may have hidden or coloured what is printed after it, or moved it elsewhere. */
const resetTerminal = '\u001b[!p\u001b[0m';

/** The person at this terminal. Ctrl-C, the end of input and everything but a clear yes are a no. */
export function terminalApprover(options: TerminalOptions): Approver {
  // One question after the other: a line typed for one must not answer another.
  const lane = new Lane();
  return {
    ask: (question, signal) => lane.run(() => (signal.aborted ? undefined : askAt(options, question, signal))),
  };
}

async function askAt(options: TerminalOptions, question: Question, signal: AbortSignal): Promise<Answer | undefined> {
  const { input, output, by, typedAheadMs } = options;
  const style = (format: 'red' | 'inverse', text: string): string => styleText(format, text, { stream: output });
  const emphasis = { finding: (text: string) => style('red', text), unseen: (text: string) => style('inverse', text) };
  output.write(`${typedAheadMs === undefined ? '' : resetTerminal}\n${questionText(question, emphasis)}\n`);
  const lines = createInterface({ input, output, terminal: true, historySize: 0, prompt: '' });
  try {
    if (typedAheadMs !== undefined) await dropTypedAhead(lines, typedAheadMs, signal);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const line = await readLine(lines, `${choices}: `, signal);
      if (signal.aborted) return undefined;
      const answer = line === undefined ? { kind: 'deny' as const, by } : answerIn(line, by, new Date());
      if (answer) return answer;
      output.write('That is not one of the answers.\n');
    }
    return { kind: 'deny', by };
  } finally {
    lines.close();
  }
}

/** Security: a line that was typed before the question could be read is no answer to it. */
async function dropTypedAhead(lines: Interface, ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  // What is left is a line that was begun.
  lines.write(null, { ctrl: true, name: 'e' });
  lines.write(null, { ctrl: true, name: 'u' });
}

/** undefined after Ctrl-C, the end of the input, or the signal. */
function readLine(lines: Interface, prompt: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(undefined);
    lines.once('SIGINT', stop);
    lines.once('close', stop);
    signal.addEventListener('abort', stop, { once: true });
    lines.question(prompt, resolve);
  });
}

/** undefined when it is none. */
export function answerIn(line: string, by: string, now: Date): Answer | undefined {
  const [, word = '', rest = ''] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(line) ?? [];
  switch (word.toLowerCase()) {
    case 'o':
    case 'once':
      return rest === '' ? { kind: 'once', by } : undefined;
    case 's':
    case 'session':
      return rest === '' ? { kind: 'session', by } : undefined;
    case 'a':
    case 'always': {
      if (rest === '') return { kind: 'always', by };
      const lasts = parseDuration(rest);
      return lasts === undefined ? undefined : { kind: 'always', by, expiresAt: new Date(now.getTime() + lasts) };
    }
    case '':
    case 'd':
    case 'deny':
    case 'n':
    case 'no':
      return { kind: 'deny', by, ...(rest !== '' && { remark: rest }) };
    default:
      return undefined;
  }
}
