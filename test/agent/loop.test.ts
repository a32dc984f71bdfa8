import { describe, expect, it } from 'vitest';
import { HermeticError } from '../../src/core/errors.ts';
import { partsOf } from '../fakes/model-bodies.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { said, shownText, startBench } from './turn-bench.ts';

describe('a turn', () => {
  it('streams the answer piece by piece, in order, and records it once', async () => {
    await using bench = await startBench(inTurn(says('One, ', 'two, ', 'three.')));
    expect(await bench.run('count')).toEqual({ kind: 'answered', text: 'One, two, three.' });
    expect(bench.events.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'One, ' },
      { type: 'text', text: 'two, ' },
      { type: 'text', text: 'three.' },
    ]);
    expect(bench.log).toEqual(['record user', 'record assistant']);
    expect(bench.transcript[1]).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'One, two, three.' }] });
  });

  it('reports the token usage, with the tokens the provider had cached', async () => {
    await using bench = await startBench(inTurn({ pieces: [{ text: 'ok' }], usage: { input: 1000, output: 20, cached: 800 } }));
    await bench.run('hello');
    expect(bench.usages).toEqual([{ inputTokens: 1000, outputTokens: 20, cachedTokens: 800, cost: undefined }]);
  });

  it('runs the tools of one answer at the same time, and gives the model all results', async () => {
    await using bench = await startBench(inTurn(calls(['slow', { text: 'a' }], ['fast', { text: 'b' }]), says('done')));
    const fastIsDone = Promise.withResolvers<void>();
    bench.tools = {
      slow: async ({ text }) => {
        // Never settles unless the other one runs meanwhile.
        await fastIsDone.promise;
        return `slow ${text}`;
      },
      fast: ({ text }) => {
        fastIsDone.resolve();
        return `fast ${text}`;
      },
    };
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'done' });
    const [first, second] = bench.server.requests;
    expect(first?.tools).toEqual(['slow', 'fast']);
    expect(second?.messages.slice(-3).map(({ role, text }) => [role, text])).toEqual([
      ['assistant', ''],
      ['tool', 'slow a'],
      ['tool', 'fast b'],
    ]);
    const told = bench.events.flatMap((event) => ('name' in event ? [`${event.type} ${event.name}`] : []));
    expect(told).toEqual(['tool-started slow', 'tool-started fast', 'tool-ended fast', 'tool-ended slow']);
  });

  it('shows the progress of a tool under the id of its call', async () => {
    await using bench = await startBench(inTurn(calls(['watch', { text: 'x' }]), says('seen')));
    bench.tools = {
      watch: (_input, { progress }) => {
        progress('half way');
        return 'all the way';
      },
    };
    await bench.run('go');
    const started = bench.events.find((event) => event.type === 'tool-started');
    expect(bench.events).toContainEqual({ type: 'tool-progress', callId: started?.callId, text: 'half way' });
  });

  it('records a call before its tool runs, and each result before the model sees it', async () => {
    await using bench = await startBench(inTurn(calls(['echo', { text: 'x' }]), says('done')));
    await bench.run('go');
    expect(bench.log).toEqual(['record user', 'record assistant', 'run echo {"text":"x"}', 'record tool', 'record assistant']);
  });

  it('waits for the record to be durable before it runs a tool', async () => {
    await using bench = await startBench(inTurn(calls(['echo', { text: 'x' }]), says('done')));
    const durable = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const running = bench.run('go', {
      record: async ([message]) => {
        if ((message as { role: string }).role !== 'assistant') return;
        asked.resolve();
        await durable.promise;
      },
    });
    await asked.promise;
    // A turn of the event loop in which a tool could have started.
    await new Promise((resolve) => setImmediate(resolve));
    expect(bench.log).toEqual([]);
    durable.resolve();
    expect(await running).toEqual({ kind: 'answered', text: 'done' });
    expect(bench.log).toEqual(['run echo {"text":"x"}']);
  });

  it.each(['user', 'assistant', 'tool'])(
    'ends the turn when a message of the %s cannot be recorded, and acts on nothing in it',
    async (role) => {
      await using bench = await startBench(inTurn(calls(['echo', { text: 'x' }]), says('done')));
      const result = await bench.run('go', {
        record: async ([message]) => {
          if ((message as { role: string }).role === role)
            throw new HermeticError('store/failed', 'The disk is full.', { hint: 'Make room.' });
        },
      });
      expect(result).toEqual({ kind: 'failed', code: 'store/failed', reason: 'The disk is full.', hint: 'Make room.' });
      expect(bench.server.requests.length).toBe(role === 'user' ? 0 : 1);
      expect(bench.log).toEqual(role === 'tool' ? ['run echo {"text":"x"}'] : []);
    },
  );

  it('ends the other tools when the result of one cannot be recorded', async () => {
    await using bench = await startBench(inTurn(calls(['quick', { text: 'a' }], ['long', { text: 'b' }])));
    const ended: string[] = [];
    bench.tools = {
      quick: () => 'done',
      long: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            ended.push('long');
            resolve('interrupted');
          });
        }),
    };
    const record = async ([message]: readonly unknown[]) => {
      if ((message as { role: string }).role === 'tool') throw new Error('the disk is full');
    };
    expect(await bench.run('go', { record })).toMatchObject({
      kind: 'failed',
      code: 'store/failed',
      reason: expect.stringContaining('the disk is full'),
    });
    expect(ended).toEqual(['long']);
  });

  it('ends the turn at the step limit, after the last tools have run and been recorded', async () => {
    await using bench = await startBench(() => calls(['echo', { text: 'again' }]));
    expect(await bench.run('go', { maxSteps: 3 })).toEqual({ kind: 'limit', steps: 3 });
    expect(bench.server.requests.length).toBe(3);
    expect(bench.transcript.map((message) => (message as { role: string }).role)).toEqual([
      'user',
      ...['assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool'],
    ]);
  });

  it("delivers a message sent during the turn at the next step, under its sender's name", async () => {
    await using bench = await startBench(inTurn(calls(['echo', { text: 'x' }]), says('done')));
    const waiting = [[said('in blue, please', 'Grace')]];
    await bench.run('paint', { steer: async () => waiting.shift() ?? [] });
    const second = bench.server.requests[1];
    expect(second?.messages.slice(-2).map(({ role }) => role)).toEqual(['tool', 'user']);
    expect(second?.last.text).toMatch(/^<message-[0-9a-f]{8} from="Grace">\nin blue, please\n<\/message-[0-9a-f]{8}>$/);
    expect(bench.log.slice(3, 5)).toEqual(['record tool', 'record user']);
  });

  it('passes malformed and unknown tool calls to the toolbox, and its answers to the model', async () => {
    await using bench = await startBench(
      inTurn(
        {
          pieces: [
            { call: 'echo', input: '{"text": oops' },
            { call: 'nothing', input: { text: 'x' } },
          ],
        },
        says('sorry'),
      ),
    );
    bench.tools = { echo: (input) => `got ${typeof input}` };
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'sorry' });
    expect(bench.log.filter((line) => line.startsWith('run'))).toEqual(['run echo "{\\"text\\": oops"', 'run nothing {"text":"x"}']);
    expect(bench.server.requests[1]?.messages.slice(-2).map(({ text }) => text)).toEqual([
      'got string',
      'There is no tool called nothing.',
    ]);
  });

  it('gives every call an id of its own, also when the provider counts from 0 each time', async () => {
    const again = {
      pieces: [
        { call: 'echo', input: { text: 'x' }, id: 'call_0' },
        { call: 'echo', input: { text: 'y' }, id: 'call_0' },
      ],
    };
    await using bench = await startBench(inTurn(again, again, says('done')));
    expect(await bench.run('go')).toEqual({ kind: 'answered', text: 'done' });
    const ids = bench.events.flatMap((event) => (event.type === 'tool-started' ? [event.callId] : []));
    expect(new Set(ids).size).toBe(4);
    const last = bench.server.requests[2]?.body.messages;
    expect(last?.flatMap((message) => message.tool_call_id ?? [])).toEqual(ids);
  });

  it('shows text before and after tools once each, and answers with the last', async () => {
    await using bench = await startBench(
      inTurn({ pieces: [{ text: 'Let me look. ' }, { call: 'echo', input: { text: 'x' } }] }, says('There it is.')),
    );
    expect(await bench.run('where?')).toEqual({ kind: 'answered', text: 'There it is.' });
    expect(shownText(bench.events)).toBe('Let me look. There it is.');
  });

  it('sends images as images, and only words to a model that refuses them', async () => {
    await using bench = await startBench(({ body }) =>
      JSON.stringify(body.messages).includes('image_url')
        ? { status: 400, message: 'this model does not support image input' }
        : says('I cannot see it'),
    );
    const image = { data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' };
    expect(await bench.run([{ text: 'what is it?', from: 'Ada', images: [image] }])).toEqual({ kind: 'answered', text: 'I cannot see it' });
    const sent = partsOf(bench.server.requests[0]?.body.messages?.[1]?.content);
    expect(sent[1]?.image_url?.url).toBe('data:image/png;base64,iVBORw==');
  });
});
