import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerMessage, interruptedText, readTranscript, settled } from '../../src/agent/messages.ts';
import { inputText } from '../../src/agent/prompt.ts';
import { shortenedInside } from '../../src/agent/size.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { startRig } from './turn-rig.ts';

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

it.each([
  { text: 'words '.repeat(2000), from: 'Ada', day: 'Monday, 2026-03-02 (UTC)' },
  { text: 'words '.repeat(2000), from: 'Ada', day: undefined },
])('a text that is cut keeps the marks around it, also after a line that tells the day', (input) => {
  const cut = shortenedInside(inputText(input), 80);
  expect(cut).toMatch(/^(Today is [^\n]*\n)?<message-([0-9a-f]{8}) from="Ada">\nwords[\s\S]*\n<\/message-\2>$/);
  expect(cut.length).toBeLessThan(300);
});

describe('an answer', () => {
  const signed = { providerMetadata: { anthropic: { signature: 'abc' } } };
  const invoked = { type: 'tool-call', toolCallId: 'a', toolName: 'echo', input: { text: 'hi' } } as const;

  it('is repeated with its thoughts, signatures, texts and calls, in their order', () => {
    const { content } = answerMessage(
      [
        { type: 'reasoning', text: 'Hm.', ...signed },
        { type: 'text', text: 'Wait.' },
        { ...invoked, ...signed, dynamic: true },
      ],
      'a/one',
    );
    const providerOptions = signed.providerMetadata;
    expect(content).toEqual([
      { type: 'reasoning', text: 'Hm.', providerOptions },
      { type: 'text', text: 'Wait.' },
      { ...invoked, providerOptions },
    ]);
  });

  it('is repeated without empty texts, arguments that are no JSON, and what the provider has called by itself', () => {
    const { content } = answerMessage(
      [
        { type: 'text', text: '' },
        { ...invoked, input: '{"text": "h', invalid: true, dynamic: true },
        { ...invoked, toolCallId: 'b', providerExecuted: true, dynamic: true },
      ],
      'a/one',
    );
    expect(content).toEqual([{ ...invoked, input: {} }]);
  });
});

describe('a transcript', () => {
  it('adds an interrupted result for every call without one', () => {
    const history = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', content: [result('b', 'done')] },
    ];
    expect(settled(readTranscript(history)).at(-1)).toEqual({ role: 'tool', content: [interrupted('a'), result('b', 'done')] });
  });

  it('puts the results of one answer into one message, in the order of the calls', () => {
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

  it('drops results without a call, and empty answers', () => {
    const history = [
      { role: 'tool', content: [result('gone', 'x')] },
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: [] },
    ];
    expect(settled(readTranscript(history))).toEqual([history[1]]);
  });

  it('reads every unreadable message of a transcript as user data', () => {
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

  it('repeats an undelivered answer without asking the model', async () => {
    await using rig = await startRig(() => says('something else'));
    rig.transcript = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ];
    expect(await rig.run([])).toEqual({ kind: 'answered', text: 'Done.' });
    expect(rig.server.requests).toEqual([]);
  });

  it('resumes a turn after an unanswered question and records the question once', async () => {
    await using rig = await startRig(inTurn(says('Yes.')));
    rig.transcript = [{ role: 'user', content: 'are you there?' }];
    expect(await rig.run([])).toEqual({ kind: 'answered', text: 'Yes.' });
    expect(rig.log).toEqual(['record assistant']);
    expect(rig.server.requests[0]?.last).toMatchObject({ role: 'user', text: 'are you there?' });
  });

  it.each([
    ['openai-compatible', 'm'],
    ['anthropic', 'claude'],
  ] as const)('%s accepts a transcript cut off at any message', async (provider, model) => {
    const steps = [
      { pieces: [{ text: 'Let me see.' }, { call: 'echo', input: { text: 'a' } }, { call: 'echo', input: { text: 'b' } }] },
      calls(['echo', { text: 'c' }], ['echo', { text: 'd' }], ['echo', { text: 'e' }]),
    ];
    await using rig = await startRig(inTurn(...steps, says('Done.')), { provider, model });
    await rig.run('go');
    const whole = [...rig.transcript];
    expect(whole.length).toBe(9);
    for (let length = 0; length <= whole.length; length++) {
      rig.transcript = whole.slice(0, length);
      expect(await rig.run('what happened?')).toEqual({ kind: 'answered', text: 'Done.' });
      if (length === 0) continue;
      rig.transcript = whole.slice(0, length);
      expect(await rig.run([])).toEqual({ kind: 'answered', text: 'Done.' });
    }
  });

  it('follows each call with exactly its own result, for any recorded order', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd');
    const message = fc.oneof(
      fc.constant({ role: 'user', content: 'x' }),
      fc.uniqueArray(id).map((ids) => ({ role: 'assistant', content: ids.map(call) })),
      fc.array(id).map((ids) => ({ role: 'tool', content: ids.map((each) => result(each, 'done')) })),
    );
    fc.assert(
      fc.property(fc.array(message), (history) => {
        const sent = settled(readTranscript(history));
        const idsOf = (content: unknown) => (Array.isArray(content) ? content.flatMap((part) => part.toolCallId ?? []) : []);
        sent.forEach(({ role, content }, index) => {
          const next = sent[index + 1];
          if (role === 'assistant') expect([next?.role, idsOf(next?.content)]).toEqual(['tool', idsOf(content)]);
          if (role === 'tool') expect(sent[index - 1]?.role).toBe('assistant');
        });
        expect(sent.filter(({ role }) => role === 'user').length).toBe(history.filter(({ role }) => role === 'user').length);
      }),
      { seed: 10 },
    );
  });
});
