import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AskingOptions, ConnectionAnswer, ConnectionAsker } from '../../src/core/egress.ts';
import { CommandNetwork } from '../../src/tools/command-network.ts';

const request = { host: 'api.example', port: 443, program: 'curl' };
const blocked: ConnectionAnswer = { allowed: false, reason: 'unlisted' };

function networkWith(askToConnect: ConnectionAsker) {
  const network = new CommandNetwork({ askToConnect, connected: () => undefined, signal: new AbortController().signal });
  let isOver = false;
  network.clock.start(200, () => {
    isOver = true;
  });
  return { ask: (left: AbortSignal) => network.ask?.(request, { left, isCheck: false }), isOver: () => isOver };
}

it('the clock of a command goes on while its connections are decided about without a person', async () => {
  const { ask, isOver } = networkWith(async () => await sleep(1_000, blocked));
  const answer = ask(new AbortController().signal);
  await sleep(600);
  expect(isOver()).toBe(true);
  await answer;
});

it('the clock of a command stands still while a person decides, for as long as its program waits', async () => {
  const left = new AbortController();
  const waiting = async (_: unknown, { onWaiting }: AskingOptions): Promise<ConnectionAnswer> => {
    onWaiting?.();
    onWaiting?.();
    return await sleep(1_500, blocked);
  };
  const { ask, isOver } = networkWith(waiting);
  const answer = ask(left.signal);
  await sleep(600);
  expect(isOver()).toBe(false);
  left.abort();
  await sleep(500);
  expect(isOver()).toBe(true);
  await answer;
});

it('says of a host that was blocked and then allowed that it is allowed, and to try again', async () => {
  const answers: ConnectionAnswer[] = [
    { allowed: false, reason: 'unanswered' },
    { allowed: true, until: 'revoked', isAnswer: true },
  ];
  const network = new CommandNetwork({
    askToConnect: async () => answers.shift() ?? blocked,
    connected: () => undefined,
    signal: new AbortController().signal,
  });
  const { signal: left } = new AbortController();
  await network.ask?.(request, { left, isCheck: false });
  await network.ask?.(request, { left, isCheck: false });
  const found = { blocked: [{ host: 'api.example', port: 443, reason: 'unanswered' as const, count: 1 }], allowed: [] };
  expect(await network.sentence(async () => found, false)).toBe(
    'Network: allowed api.example:443 from now on, after an attempt that was blocked; run it again.',
  );
});
