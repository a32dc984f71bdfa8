import { describe, expect, it } from 'vitest';
import { turnProgress } from '../../src/agent/turn-progress.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { type Rig, startRig } from './turn-rig.ts';

/** A transcript of a program that died: both calls were made, and the results of `settled` were recorded. */
async function died(rig: Rig, settled: readonly string[]): Promise<void> {
  await rig.run('go');
  const transcript = rig.transcript as { role: string; content: { toolCallId?: string; output?: { value: string } }[] }[];
  rig.transcript = transcript
    .slice(0, transcript.findLastIndex(({ role }) => role === 'tool') + 1)
    .filter(({ role, content }) => role !== 'tool' || settled.includes(content[0]?.output?.value ?? ''));
  rig.log.length = 0;
}

const script = () => inTurn(calls(['echo', { text: 'a' }], ['echo', { text: 'b' }]), says('first'), says('second'));

describe('a resumed turn', () => {
  it('makes the calls that had not begun, reports the others to the model, and continues', async () => {
    await using rig = await startRig(script());
    await died(rig, []);
    const result = await rig.run([], {
      takeUp: async (_name, input) =>
        (input as { text: string }).text === 'a' ? { ok: true, text: 'allowed at last', data: {} } : undefined,
    });
    expect(result).toEqual({ kind: 'answered', text: 'second' });
    expect(rig.log.filter((line) => line.startsWith('run'))).toEqual([]);
    const seen = rig.server.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
    expect(seen?.map(({ text }) => text)).toEqual(['allowed at last', expect.stringContaining('not known whether it ran')]);
    expect(turnProgress(rig.transcript)).toEqual({ kind: 'answered', inputs: 1, answers: ['', 'second'] });
  });

  it('repeats no call whose result is known', async () => {
    await using rig = await startRig(script());
    await died(rig, ['a']);
    const taken: unknown[] = [];
    await rig.run([], {
      takeUp: async (_name, input) => {
        taken.push(input);
        return undefined;
      },
    });
    expect(taken).toEqual([{ text: 'b' }]);
  });

  it('repeats no call when it is unknown which calls had begun', async () => {
    await using rig = await startRig(script());
    await died(rig, []);
    expect(await rig.run([])).toEqual({ kind: 'answered', text: 'second' });
    expect(rig.log.filter((line) => line.startsWith('run'))).toEqual([]);
  });
});

describe('turn progress', () => {
  it('reports a turn as unanswered, calling, unanswered again and answered', async () => {
    await using rig = await startRig(script());
    await rig.run('go');
    const kinds = rig.transcript.map((_, index) => turnProgress(rig.transcript.slice(0, index + 1)).kind);
    expect(kinds).toEqual(['unanswered', 'calling', 'calling', 'unanswered', 'answered']);
    expect(turnProgress([])).toEqual({ kind: 'unanswered', inputs: 0, answers: [] });
    expect(turnProgress(['nothing that can be read'])).toEqual({ kind: 'unanswered', inputs: 1, answers: [] });
  });
});
