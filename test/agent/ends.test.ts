import { describe, expect, it } from 'vitest';
import { interruptedText } from '../../src/agent/messages.ts';
import { calls, inTurn, refuses, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { shownText, startBench } from './turn-bench.ts';

const never = new Promise<never>(() => undefined);

describe('an interrupted turn', () => {
  it('ends in the middle of a text: the provider is told, and what was said stays', async () => {
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

  it('ends before anything was said', async () => {
    await using bench = await startBench(() => never);
    const stop = new AbortController();
    const running = bench.run('tell', { signal: stop.signal });
    await until('the provider was asked', () => bench.server.requests.length === 1);
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    await bench.server.requests[0]?.disconnected;
    expect(bench.log).toEqual(['record user']);
  });

  it('ends in the middle of tools: each is told, and their results are recorded', async () => {
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

  it('ends also when a tool does not, and says that nobody knows what became of it', async () => {
    await using bench = await startBench(inTurn(calls(['deaf', { text: 'a' }])));
    bench.tools = { deaf: () => never };
    const stop = new AbortController();
    const running = bench.run('go', { signal: stop.signal });
    await until('it runs', () => bench.log.includes('run deaf {"text":"a"}'));
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
    expect(JSON.stringify(bench.transcript.at(-1))).toContain(interruptedText);
  });

  it('ends while it waits to ask again', async () => {
    await using bench = await startBench(() => refuses(429, 'slow down', { 'retry-after': '60' }));
    const stop = new AbortController();
    const running = bench.run('go', { signal: stop.signal });
    await until('it waits', () => bench.events.some(({ type }) => type === 'waiting'));
    stop.abort();
    expect(await running).toEqual({ kind: 'interrupted' });
  });

  it('does nothing when it is interrupted before it begins, but remembers what was said', async () => {
    await using bench = await startBench(() => says('never'));
    expect(await bench.run('go', { signal: AbortSignal.abort() })).toEqual({ kind: 'interrupted' });
    expect(bench.server.requests).toEqual([]);
    expect(bench.log).toEqual(['record user']);
  });
});

describe('a provider that fails', () => {
  it.each([429, 500, 502, 503, 529])('is asked again after status %i', async (status) => {
    await using bench = await startBench(inTurn(refuses(status), refuses(status), says('here')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'here' });
    expect(bench.events.filter(({ type }) => type === 'waiting').length).toBe(2);
  });

  it('is believed when it says how long to wait', async () => {
    await using bench = await startBench(inTurn(refuses(429, 'slow', { 'retry-after': '0.05' }), says('here')));
    await bench.run('go');
    expect(bench.events).toContainEqual(expect.objectContaining({ type: 'waiting', ms: 50, attempt: 1 }));
  });

  it('is not waited for when it asks for too long', async () => {
    await using bench = await startBench(() => refuses(429, 'come back tomorrow', { 'retry-after': '86400' }));
    expect(await bench.run('go')).toMatchObject({
      kind: 'failed',
      code: 'model/failed',
      reason: expect.stringContaining('come back tomorrow'),
    });
    expect(bench.server.requests.length).toBe(1);
  });

  it('fails the turn when it goes on, in words', async () => {
    await using bench = await startBench(() => refuses(503, 'under repair'));
    expect(await bench.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed', reason: expect.stringContaining('under repair') });
    expect(bench.server.requests.length).toBe(6);
  });

  it.each([
    ['socket', 'a connection that breaks'],
    ['end', 'an answer that ends without its end'],
  ] as const)('%s: survives %s in the middle of a text, and says nothing twice', async (cut, _what) => {
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

  it('may say in the middle of an answer that it cannot go on', async () => {
    await using bench = await startBench(inTurn({ pieces: [{ text: 'Hel' }, { error: 'Overloaded' }] }, says('Hello')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    expect(shownText(bench.events)).toBe('Hello');
  });

  it('is asked again when nothing comes for too long, and is told that nobody waits any more', async () => {
    await using bench = await startBench(inTurn({ pieces: [{ text: 'Hel' }, { until: never }] }, says('Hello')), {}, { stallMs: 300 });
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'Hello' });
    await bench.server.requests[0]?.disconnected;
    expect(shownText(bench.events)).toBe('Hello');
  });

  it('is asked again when it says nothing at all', async () => {
    await using bench = await startBench(inTurn(says(''), says('here')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'here' });
  });

  it('fails the turn when it withholds the answer', async () => {
    await using bench = await startBench(() => ({ pieces: [], finish: 'content-filter' }));
    expect(await bench.run('go')).toMatchObject({ kind: 'failed', code: 'model/failed', reason: expect.stringContaining('withheld') });
  });

  it('fails the turn at once when it refuses the key, and tells which one', async () => {
    await using bench = await startBench(() => refuses(401, 'Incorrect API key provided: key-1'));
    const result = await bench.run('go');
    expect(result).toMatchObject({ kind: 'failed', code: 'model/unusable', reason: expect.stringContaining('OPENAI_COMPATIBLE_API_KEY') });
    expect(JSON.stringify(result)).not.toContain('key-1');
    expect(bench.server.requests.length).toBe(1);
  });

  it('has not answered when the connection is gone before tools were recorded, so the next turn is told', async () => {
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
