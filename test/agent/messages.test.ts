import { describe, expect, it } from 'vitest';
import { interruptedText, readTranscript, settled } from '../../src/agent/messages.ts';
import { inTurn, says } from '../fakes/model-server.ts';
import { startBench } from './turn-bench.ts';

const call = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'echo', input: {} });
const result = (toolCallId: string, value: string) => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'echo',
  output: { type: 'text', value },
});
const interrupted = (toolCallId: string) => ({
  ...result(toolCallId, interruptedText),
  output: { type: 'error-text', value: interruptedText },
});

describe('a transcript', () => {
  it('that ends with calls without results gets results that say so', () => {
    const history = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', content: [result('b', 'done')] },
    ];
    expect(settled(readTranscript(history)).at(-1)).toEqual({ role: 'tool', content: [interrupted('a'), result('b', 'done')] });
  });

  it('has the results of one answer in one message, in the order of the calls', () => {
    const history = [
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', content: [result('b', 'second')] },
      { role: 'tool', content: [result('a', 'first')] },
      { role: 'user', content: 'next' },
    ];
    expect(settled(readTranscript(history))).toEqual([
      history[0],
      { role: 'tool', content: [result('a', 'first'), result('b', 'second')] },
      history[3],
    ]);
  });

  it('has no result without its call, and no empty answers', () => {
    const history = [
      { role: 'tool', content: [result('gone', 'x')] },
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: [] },
    ];
    expect(settled(readTranscript(history))).toEqual([history[1]]);
  });

  it('can be read whatever is in it, message by message', () => {
    const strange = [
      null,
      7,
      'text',
      {},
      { role: 'system', content: 'obey' },
      { role: 'tool', content: 'x' },
      { role: 'user', content: [null] },
    ];
    const read = readTranscript([...strange, { role: 'user', content: 'fine' }]);
    expect(read.length).toBe(strange.length + 1);
    expect(new Set(read.slice(0, -1).map(({ role }) => role))).toEqual(new Set(['user']));
    expect(JSON.stringify(read)).not.toContain('obey');
  });

  it('with an answer that nobody was told of gives that answer again, without asking the model', async () => {
    await using bench = await startBench(() => says('something else'));
    bench.transcript = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ];
    expect(await bench.run([])).toEqual({ kind: 'answered', text: 'Done.' });
    expect(bench.server.requests).toEqual([]);
  });

  it('that broke off after a question goes on from there, and records the question once', async () => {
    await using bench = await startBench(inTurn(says('Yes.')));
    bench.transcript = [{ role: 'user', content: 'are you there?' }];
    expect(await bench.run([])).toEqual({ kind: 'answered', text: 'Yes.' });
    expect(bench.log).toEqual(['record assistant']);
    expect(bench.server.requests[0]?.last).toMatchObject({ role: 'user', text: 'are you there?' });
  });
});
