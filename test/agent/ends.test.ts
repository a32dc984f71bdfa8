import { describe, expect, it } from 'vitest';
import { interruptedText } from '../../src/agent/messages.ts';
import { calls, inTurn, refuses, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { shownText, startBench } from './turn-bench.ts';

const never = new Promise<never>(() => undefined);

describe('an interrupted turn', () => {
  it("an interrupt in the middle of a text closes the provider's connection and keeps the text", async () => {
    await using bench = await startBench(() => ({ pieces: [{ text: 'Once upon ' }, { text: 'a time' }, { until: never }] }));
    const stop = new AbortController();
    const running = bench.run('tell', { signal: stop.signal });
    await until('all of the text has come', () => shownText(bench.events) === 'Once upon a time');
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    await bench.server.requests[0]?.disconnected;
    expect(bench.transcript.at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Once upon a time' }] });
    expect(bench.server.requests.length).toBe(1);
  });

  it("an interrupt before the first word closes the provider's connection and records no answer", async () => {
    await using bench = await startBench(() => never);
    const stop = new AbortController();
    const running = bench.run('tell', { signal: stop.signal });
    await until('the provider was asked', () => bench.server.requests.length === 1);
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    await bench.server.requests[0]?.disconnected;
    expect(bench.log).toEqual(['record user']);
  });

  it('an interrupt aborts every running tool and records their results', async () => {
    await using bench = await startBench(inTurn(calls(['wait', { text: 'a' }], ['wait', { text: 'b' }]), says('never said')));
    bench.tools = {
      wait: ({ text }, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(`interrupted ${text}`));
        }),
    };
    const stop = new AbortController();
    const running = bench.run('go', { signal: stop.signal });
    await until('both run', () => bench.log.filter((line) => line.startsWith('run')).length === 2);
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    expect(bench.server.requests.length).toBe(1);
    expect(JSON.stringify(bench.transcript.slice(-2))).toMatch(/interrupted a.*interrupted b/);
  });

  it('an interrupted turn ends although its tool never returns, and records that the outcome is unknown', async () => {
    await using bench = await startBench(inTurn(calls(['deaf', { text: 'a' }])));
    bench.tools = { deaf: () => never };
    const stop = new AbortController();
    const running = bench.run('go', { signal: stop.signal });
    await until('it runs', () => bench.log.includes('run deaf {"text":"a"}'));
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    expect(JSON.stringify(bench.transcript.at(-1))).toContain(interruptedText);
  });

  it('an interrupt ends the wait before a retry', async () => {
    await using bench = await startBench(() => refuses(429, 'slow down', { 'retry-after': '60' }));
    const stop = new AbortController();
    const running = bench.run('go', { signal: stop.signal });
    await until('it waits', () => bench.events.some(({ type }) => type === 'waiting'));
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
  });

  it('a turn interrupted before it begins asks no model and records the message', async () => {
    await using bench = await startBench(() => says('never'));
    expect(await bench.run('go', { signal: AbortSignal.abort() })).toEqual({ kind: 'interrupted' });
    expect(bench.server.requests).toEqual([]);
    expect(bench.log).toEqual(['record user']);
  });
});

describe('provider failures', () => {
  it.each([429, 500, 502, 503, 529])('retries the provider after status %i', async (status) => {
    await using bench = await startBench(inTurn(refuses(status), refuses(status), says('here')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'here' });
    expect(bench.events.filter(({ type }) => type === 'waiting').length).toBe(2);
  });

  it('waits as long as retry-after says', async () => {
    await using bench = await startBench(inTurn(refuses(429, 'slow', { 'retry-after': '0.05' }), says('here')));
    await bench.run('go');
    expect(bench.events).toContainEqual(expect.objectContaining({ type: 'waiting', ms: 50, attempt: 1 }));
  });

  it('fails the turn at once when retry-after is too long', async () => {
    await using bench = await startBench(() => refuses(429, 'come back tomorrow', { 'retry-after': '86400' }));
    expect(await bench.run('go')).toMatchObject({
      kind: 'failed',
      code: 'model/failed',
      reason: expect.stringContaining('come back tomorrow'),
    });
    expect(bench.server.requests.length).toBe(1);
  });

  it('fails the turn with a readable reason when the provider keeps failing', async () => {
    await using bench = await startBench(() => refuses(503, 'under repair'));
    expect(await bench.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed', reason: expect.stringContaining('under repair') });
    expect(bench.server.requests.length).toBe(6);
  });

  it.each([
    ['socket', 'a connection that breaks'],
    ['end', 'an answer that ends without its end'],
  ] as const)('%s: retries after %s in the middle of a text, and shows no text twice', async (cut, _what) => {
    await using bench = await startBench(inTurn({ pieces: [{ text: 'Hel' }, { cut }] }, says('Hello')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    expect(bench.events.map(({ type }) => type)).toEqual(['text', 'text-discarded', 'waiting', 'text', 'step-finished']);
    expect(shownText(bench.events)).toBe('Hello');
    expect(bench.transcript.length).toBe(2);
  });

  it.each(['socket', 'end'] as const)('%s: runs a tool once when the answer breaks off in the middle of the call', async (cut) => {
    const call = { call: 'echo', input: { text: 'x' } };
    await using bench = await startBench(
      inTurn({ pieces: [call, { ...call, half: true }, { cut }] }, calls(['echo', { text: 'x' }]), says('done')),
    );
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'done' });
    expect(bench.log.filter((line) => line.startsWith('run'))).toEqual(['run echo {"text":"x"}']);
  });

  it('retries when the provider reports an error in the middle of an answer', async () => {
    await using bench = await startBench(inTurn({ pieces: [{ text: 'Hel' }, { error: 'Overloaded' }] }, says('Hello')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    expect(shownText(bench.events)).toBe('Hello');
  });

  it('retries a stalled answer and closes the stalled connection', async () => {
    await using bench = await startBench(inTurn({ pieces: [{ text: 'Hel' }, { until: never }] }, says('Hello')), {}, { stallMs: 300 });
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    await bench.server.requests[0]?.disconnected;
    expect(shownText(bench.events)).toBe('Hello');
  });

  it('retries an empty answer', async () => {
    await using bench = await startBench(inTurn(says(''), says('here')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'here' });
  });

  it('fails the turn when the provider withholds the answer', async () => {
    await using bench = await startBench(() => ({ pieces: [], finish: 'content-filter' }));
    expect(await bench.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed', reason: expect.stringContaining('withheld') });
  });

  it('fails the turn at once when the provider refuses the key, and names the key', async () => {
    await using bench = await startBench(() => refuses(401, 'Incorrect API key provided: key-1'));
    const result = await bench.run('go');
    expect(result).toMatchObject({ kind: 'failed', code: 'model/unusable', reason: expect.stringContaining('OPENAI_COMPATIBLE_API_KEY') });
    expect(JSON.stringify(result)).not.toContain('key-1');
    expect(bench.server.requests.length).toBe(1);
  });

  it('tells the model in the next turn that a call without a result was interrupted', async () => {
    await using bench = await startBench(inTurn(says('I will look.')));
    bench.transcript = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'echo', input: { text: '1' } }] },
    ];
    await bench.run('and?');
    expect(bench.server.requests[0]?.messages.slice(1).map(({ role, text }) => [role, role === 'user' ? '' : text])).toEqual([
      ['user', ''],
      ['assistant', ''],
      ['tool', interruptedText],
      ['user', ''],
    ]);
  });
});
