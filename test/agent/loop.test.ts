import { describe, expect, it } from 'vitest';
import { HermeticError } from '../../src/core/errors.ts';
import { partsOf } from '../fakes/model-bodies.ts';
import { calls, inTurn, type Reply, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { said, shownText, startRig } from './turn-rig.ts';

describe('a turn', () => {
  it('streams the answer piece by piece, in order, and records it once', async () => {
    // Each piece comes when the one before was heard: pieces that come together are joined.
    const heard = (count: number) => until(`${count} pieces`, () => rig.events.filter(({ type }) => type === 'text').length === count);
    const pieces = (): Reply => ({
      pieces: [{ text: 'One, ' }, { until: heard(1) }, { text: 'two, ' }, { until: heard(2) }, { text: 'three.' }],
    });
    await using rig = await startRig(pieces);
    expect(await rig.run('count')).toEqual({ kind: 'answered', text: 'One, two, three.' });
    expect(rig.events.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'One, ' },
      { type: 'text', text: 'two, ' },
      { type: 'text', text: 'three.' },
    ]);
    expect(rig.log).toEqual(['record user', 'record assistant']);
    expect(rig.transcript[1]).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'One, two, three.' }] });
  });

  it('reports the token usage, with the tokens the provider had cached', async () => {
    await using rig = await startRig(inTurn({ pieces: [{ text: 'ok' }], usage: { input: 1000, output: 20, cached: 800 } }));
    await rig.run('hello');
    expect(rig.usages).toEqual([{ inputTokens: 1000, outputTokens: 20, cachedTokens: 800, writtenTokens: 0, cost: undefined }]);
  });

  it('runs the tools of one answer at the same time, and gives the model all results', async () => {
    await using rig = await startRig(inTurn(calls(['slow', { text: 'a' }], ['fast', { text: 'b' }]), says('done')));
    const fastIsDone = Promise.withResolvers<void>();
    rig.tools = {
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
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'done' });
    const [first, second] = rig.server.requests;
    expect(first?.tools).toEqual(['slow', 'fast']);
    expect(second?.messages.slice(-3).map(({ role, text }) => [role, text])).toEqual([
      ['assistant', ''],
      ['tool', 'slow a'],
      ['tool', 'fast b'],
    ]);
    const told = rig.events.flatMap((event) => ('name' in event ? [`${event.type} ${event.name}`] : []));
    expect(told).toEqual(['tool-started slow', 'tool-started fast', 'tool-ended fast', 'tool-ended slow']);
  });

  it('shows the progress of a tool under the id of its call', async () => {
    await using rig = await startRig(inTurn(calls(['watch', { text: 'x' }]), says('seen')));
    rig.tools = {
      watch: (_input, { progress }) => {
        progress('half way');
        return 'all the way';
      },
    };
    await rig.run('go');
    const started = rig.events.find((event) => event.type === 'tool-started');
    expect(rig.events).toContainEqual({ type: 'tool-progress', callId: started?.callId, text: 'half way' });
  });

  it('records a call before its tool runs, and each result before the model sees it', async () => {
    await using rig = await startRig(inTurn(calls(['echo', { text: 'x' }]), says('done')));
    await rig.run('go');
    expect(rig.log).toEqual(['record user', 'record assistant', 'run echo {"text":"x"}', 'record tool', 'record assistant']);
  });

  it('waits for the record to be durable before it runs a tool', async () => {
    await using rig = await startRig(inTurn(calls(['echo', { text: 'x' }]), says('done')));
    const durable = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const running = rig.run('go', {
      record: async ([message]) => {
        if ((message as { role: string }).role !== 'assistant') return;
        asked.resolve();
        await durable.promise;
      },
    });
    await asked.promise;
    // A turn of the event loop in which a tool could have started.
    await new Promise((resolve) => setImmediate(resolve));
    expect(rig.log).toEqual([]);
    durable.resolve();
    expect(await running).toEqual({ kind: 'answered', text: 'done' });
    expect(rig.log).toEqual(['run echo {"text":"x"}']);
  });

  it.each(['user', 'assistant', 'tool'])(
    'ends the turn when a message of the %s cannot be recorded, and acts on nothing in it',
    async (role) => {
      await using rig = await startRig(inTurn(calls(['echo', { text: 'x' }]), says('done')));
      const result = await rig.run('go', {
        record: async ([message]) => {
          if ((message as { role: string }).role === role)
            throw new HermeticError('store/failed', 'The disk is full.', { hint: 'Make room.' });
        },
      });
      expect(result).toEqual({ kind: 'failed', code: 'store/failed', reason: 'The disk is full.', hint: 'Make room.' });
      expect(rig.server.requests.length).toBe(role === 'user' ? 0 : 1);
      expect(rig.log).toEqual(role === 'tool' ? ['run echo {"text":"x"}'] : []);
    },
  );

  it('ends the other tools when the result of one cannot be recorded', async () => {
    await using rig = await startRig(inTurn(calls(['quick', { text: 'a' }], ['long', { text: 'b' }])));
    const ended: string[] = [];
    rig.tools = {
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
    expect(await rig.run('go', { record })).toMatchObject({
      kind: 'failed',
      code: 'store/failed',
      reason: expect.stringContaining('the disk is full'),
    });
    expect(ended).toEqual(['long']);
  });

  it('ends the turn at the step limit, after the last tools have run and been recorded', async () => {
    await using rig = await startRig(() => calls(['echo', { text: 'again' }]));
    expect(await rig.run('go', { maxSteps: 3 })).toEqual({ kind: 'limit', steps: 3 });
    expect(rig.server.requests.length).toBe(3);
    expect(rig.transcript.map((message) => (message as { role: string }).role)).toEqual([
      'user',
      ...['assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool'],
    ]);
  });

  it("delivers a message sent during the turn at the next step, under its sender's name", async () => {
    await using rig = await startRig(inTurn(calls(['echo', { text: 'x' }]), says('done')));
    const waiting = [[said('in blue, please', 'Grace')]];
    await rig.run('paint', { steer: async () => waiting.shift() ?? [] });
    const second = rig.server.requests[1];
    expect(second?.messages.slice(-2).map(({ role }) => role)).toEqual(['tool', 'user']);
    expect(second?.last.text).toMatch(/^<message-[0-9a-f]{8} from="Grace">\nin blue, please\n<\/message-[0-9a-f]{8}>$/);
    expect(rig.log.slice(3, 5)).toEqual(['record tool', 'record user']);
  });

  it('passes malformed and unknown tool calls to the toolbox, and its answers to the model', async () => {
    await using rig = await startRig(
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
    rig.tools = { echo: (input) => `got ${typeof input}` };
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'sorry' });
    expect(rig.log.filter((line) => line.startsWith('run'))).toEqual(['run echo "{\\"text\\": oops"', 'run nothing {"text":"x"}']);
    expect(rig.server.requests[1]?.messages.slice(-2).map(({ text }) => text)).toEqual(['got string', 'There is no tool called nothing.']);
  });

  it('gives every call an id of its own, also when the provider counts from 0 each time', async () => {
    const again = {
      pieces: [
        { call: 'echo', input: { text: 'x' }, id: 'call_0' },
        { call: 'echo', input: { text: 'y' }, id: 'call_0' },
      ],
    };
    await using rig = await startRig(inTurn(again, again, says('done')));
    expect(await rig.run('go')).toEqual({ kind: 'answered', text: 'done' });
    const ids = rig.events.flatMap((event) => (event.type === 'tool-started' ? [event.callId] : []));
    expect(new Set(ids).size).toBe(4);
    const last = rig.server.requests[2]?.body.messages;
    expect(last?.flatMap((message) => message.tool_call_id ?? [])).toEqual(ids);
  });

  it('shows text before and after tools once each, and answers with the last', async () => {
    await using rig = await startRig(
      inTurn({ pieces: [{ text: 'Let me look. ' }, { call: 'echo', input: { text: 'x' } }] }, says('There it is.')),
    );
    expect(await rig.run('where?')).toEqual({ kind: 'answered', text: 'There it is.' });
    expect(shownText(rig.events)).toBe('Let me look. There it is.');
  });

  it('sends images as images, and only words to a model that refuses them', async () => {
    await using rig = await startRig(({ body }) =>
      JSON.stringify(body.messages).includes('image_url')
        ? { status: 400, message: 'this model does not support image input' }
        : says('I cannot see it'),
    );
    const image = { data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' };
    expect(await rig.run([{ text: 'what is it?', from: 'Ada', images: [image] }])).toEqual({ kind: 'answered', text: 'I cannot see it' });
    const sent = partsOf(rig.server.requests[0]?.body.messages?.[1]?.content);
    expect(sent[1]?.image_url?.url).toBe('data:image/png;base64,iVBORw==');
  });
});
