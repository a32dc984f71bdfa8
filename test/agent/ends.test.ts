import { describe, expect, it } from 'vitest';
import { interruptedText } from '../../src/agent/messages.ts';
import { calls, inTurn, refuses, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { shownText, startRig } from './turn-rig.ts';

const never = new Promise<never>(() => undefined);

describe('an interrupted turn', () => {
  it("an interrupt in the middle of a text closes the provider's connection and keeps the text", async () => {
    await using rig = await startRig(() => ({ pieces: [{ text: 'Once upon ' }, { text: 'a time' }, { until: never }] }));
    const stop = new AbortController();
    const running = rig.run('tell', { signal: stop.signal });
    await until('all of the text has come', () => shownText(rig.events) === 'Once upon a time');
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    await rig.server.requests[0]?.disconnected;
    expect(rig.transcript.at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Once upon a time' }] });
    expect(rig.server.requests.length).toBe(1);
  });

  it("an interrupt before the first word closes the provider's connection and records no answer", async () => {
    await using rig = await startRig(() => never);
    const stop = new AbortController();
    const running = rig.run('tell', { signal: stop.signal });
    await until('the provider was asked', () => rig.server.requests.length === 1);
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    await rig.server.requests[0]?.disconnected;
    expect(rig.log).toEqual(['record user']);
  });

  it('an interrupt aborts every running tool and records their results', async () => {
    await using rig = await startRig(inTurn(calls(['wait', { text: 'a' }], ['wait', { text: 'b' }]), says('never said')));
    rig.tools = {
      wait: ({ text }, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(`interrupted ${text}`));
        }),
    };
    const stop = new AbortController();
    const running = rig.run('go', { signal: stop.signal });
    await until('both run', () => rig.log.filter((line) => line.startsWith('run')).length === 2);
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    expect(rig.server.requests.length).toBe(1);
    expect(JSON.stringify(rig.transcript.slice(-2))).toMatch(/interrupted a.*interrupted b/);
  });

  it('an interrupted turn ends although its tool never returns, and records that the outcome is unknown', async () => {
    await using rig = await startRig(inTurn(calls(['deaf', { text: 'a' }])));
    rig.tools = { deaf: () => never };
    const stop = new AbortController();
    const running = rig.run('go', { signal: stop.signal });
    await until('it runs', () => rig.log.includes('run deaf {"text":"a"}'));
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    expect(JSON.stringify(rig.transcript.at(-1))).toContain(interruptedText);
  });

  it('an interrupt ends the wait before a retry', async () => {
    await using rig = await startRig(() => refuses(429, 'slow down', { 'retry-after': '60' }));
    const stop = new AbortController();
    const running = rig.run('go', { signal: stop.signal });
    await until('it waits', () => rig.events.some(({ type }) => type === 'waiting'));
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
  });

  it('a turn interrupted before it begins asks no model and records the message', async () => {
    await using rig = await startRig(() => says('never'));
    expect(await rig.run('go', { signal: AbortSignal.abort() })).toEqual({ kind: 'interrupted' });
    expect(rig.server.requests).toEqual([]);
    expect(rig.log).toEqual(['record user']);
  });
});

describe('provider failures', () => {
  it.each([429, 500, 502, 503, 529])('retries the provider after status %i', async (status) => {
    await using rig = await startRig(inTurn(refuses(status), refuses(status), says('here')));
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'here' });
    expect(rig.events.filter(({ type }) => type === 'waiting').length).toBe(2);
  });

  it('waits as long as retry-after says', async () => {
    await using rig = await startRig(inTurn(refuses(429, 'slow', { 'retry-after': '0.05' }), says('here')));
    await rig.run('go');
    expect(rig.events).toContainEqual(expect.objectContaining({ type: 'waiting', ms: 50, attempt: 1 }));
  });

  it('fails the turn at once when retry-after is too long', async () => {
    await using rig = await startRig(() => refuses(429, 'come back tomorrow', { 'retry-after': '86400' }));
    expect(await rig.run('go')).toMatchObject({
      kind: 'failed',
      code: 'model/failed',
      reason: expect.stringContaining('come back tomorrow'),
    });
    expect(rig.server.requests.length).toBe(1);
  });

  it('fails the turn with a readable reason when the provider keeps failing', async () => {
    await using rig = await startRig(() => refuses(503, 'under repair'));
    expect(await rig.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed', reason: expect.stringContaining('under repair') });
    expect(rig.server.requests.length).toBe(6);
  });

  it.each([
    ['socket', 'a connection that breaks'],
    ['end', 'an answer that ends without its end'],
  ] as const)('%s: retries after %s in the middle of a text, and shows no text twice', async (cut, _what) => {
    await using rig = await startRig(inTurn({ pieces: [{ text: 'Hel' }, { cut }] }, says('Hello')));
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    expect(rig.events.map(({ type }) => type)).toEqual(['asking', 'text', 'text-discarded', 'waiting', 'text', 'step-finished']);
    expect(shownText(rig.events)).toBe('Hello');
    expect(rig.transcript.length).toBe(2);
  });

  it.each(['socket', 'end'] as const)('%s: runs a tool once when the answer breaks off in the middle of the call', async (cut) => {
    const call = { call: 'echo', input: { text: 'x' } };
    await using rig = await startRig(
      inTurn({ pieces: [call, { ...call, half: true }, { cut }] }, calls(['echo', { text: 'x' }]), says('done')),
    );
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'done' });
    expect(rig.log.filter((line) => line.startsWith('run'))).toEqual(['run echo {"text":"x"}']);
  });

  it('retries when the provider reports an error in the middle of an answer', async () => {
    await using rig = await startRig(inTurn({ pieces: [{ text: 'Hel' }, { error: 'Overloaded' }] }, says('Hello')));
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    expect(shownText(rig.events)).toBe('Hello');
  });

  it('retries a stalled answer and closes the stalled connection', async () => {
    await using rig = await startRig(inTurn({ pieces: [{ text: 'Hel' }, { until: never }] }, says('Hello')), {}, { stallMs: 300 });
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    await rig.server.requests[0]?.disconnected;
    expect(shownText(rig.events)).toBe('Hello');
  });

  it('gives up a model that says nothing, after the time of its settings', async () => {
    await using rig = await startRig(inTurn({ pieces: [{ until: never }] }, says('Hello')), { stall_seconds: 0.3 });
    expect(await rig.run('go')).toMatchObject({
      kind: 'failed',
      code: 'model/failed',
      reason: 'openai-compatible/scripted said nothing for 0.3 s.',
      hint: expect.stringContaining('model.stall_seconds'),
    });
    await rig.server.requests[0]?.disconnected;
    expect(rig.server.requests).toHaveLength(1);
    expect(rig.events).toEqual([{ type: 'asking' }]);
  });

  it('gives up a model that stops in the middle of its answer twice', async () => {
    const half = { pieces: [{ text: 'Hel' }, { until: never }] };
    await using rig = await startRig(inTurn(half, half, says('Hello')), {}, { stallMs: 300 });
    expect(await rig.run('go')).toMatchObject({ kind: 'failed', reason: expect.stringContaining('said nothing more') });
    expect(rig.server.requests).toHaveLength(2);
    expect(shownText(rig.events)).toBe('');
  });

  it('retries an empty answer', async () => {
    await using rig = await startRig(inTurn(says(''), says('here')));
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'here' });
  });

  it('fails the turn when the provider withholds the answer', async () => {
    await using rig = await startRig(() => ({ pieces: [], finish: 'content-filter' }));
    expect(await rig.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed', reason: expect.stringContaining('withheld') });
  });

  it('fails the turn at once when the provider refuses the key, and names the key', async () => {
    await using rig = await startRig(() => refuses(401, 'Incorrect API key provided: key-1'));
    const result = await rig.run('go');
    expect(result).toMatchObject({ kind: 'failed', code: 'model/unusable', reason: expect.stringContaining('OPENAI_COMPATIBLE_API_KEY') });
    expect(JSON.stringify(result)).not.toContain('key-1');
    expect(rig.server.requests.length).toBe(1);
  });

  it('tells the model in the next turn that a call without a result was interrupted', async () => {
    await using rig = await startRig(inTurn(says('I will look.')));
    rig.transcript = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'echo', input: { text: '1' } }] },
    ];
    await rig.run('and?');
    expect(rig.server.requests[0]?.messages.slice(1).map(({ role, text }) => [role, role === 'user' ? '' : text])).toEqual([
      ['user', ''],
      ['assistant', ''],
      ['tool', interruptedText],
      ['user', ''],
    ]);
  });
});
