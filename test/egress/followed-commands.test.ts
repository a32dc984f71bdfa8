import { describe, expect, it } from 'vitest';
import type { ConnectionAnswer } from '../../src/core/egress.ts';
import { FollowedCommands } from '../../src/egress/followed-commands.ts';

const allowed: ConnectionAnswer = { allowed: true, until: 'revoked' };
const question = (mark: string) =>
  ({ kind: 'decide', mark, request: { host: 'a.test', port: 443, program: undefined }, isCheck: false }) as const;

describe('the commands of a sandbox whose connections are followed', () => {
  function followed() {
    let looks = 0;
    const commands = new FollowedCommands(() => (looks += 1));
    const running = new Set<string>();
    return {
      commands,
      running,
      looks: () => looks,
      add: (...marks: string[]) => {
        for (const mark of marks) commands.add({ mark, ask: async () => allowed, isRunning: () => running.has(mark) });
      },
      isKept: async (mark: string) => {
        const reply = await commands.reply(1, question(mark));
        return reply.kind === 'decide' && reply.answer.allowed;
      },
    };
  }
  const marks = (first: string, count: number) => Array.from({ length: count }, (_, number) => `${first}${number}`);

  it('are looked for after every sixteen of them', () => {
    const { add, looks } = followed();
    add(...marks('a', 15));
    expect(looks()).toBe(0);
    add(...marks('b', 33));
    expect(looks()).toBe(3);
  });

  it('are forgotten when they have ended and had no process twice', async () => {
    const { commands, add, running, isKept } = followed();
    running.add('running');
    add('running', 'left', ...marks('a', 14));
    commands.keepLive(new Set(['left']));
    expect(await isKept('a0')).toBe(true);
    add(...marks('b', 16));
    commands.keepLive(new Set(['left']));
    expect([await isKept('a0'), await isKept('b0'), await isKept('left'), await isKept('running')]).toEqual([false, true, true, true]);
  });

  it('are kept when they ended after their processes were looked for', async () => {
    const { commands, add, running, isKept } = followed();
    running.add('late');
    for (const first of ['a', 'b']) {
      add('late', ...marks(first, 15));
      if (first === 'b') running.delete('late');
      commands.keepLive(new Set());
    }
    expect(await isKept('late')).toBe(true);
  });
});
