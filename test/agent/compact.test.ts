import { describe, expect, it } from 'vitest';
import { summaryInstructions } from '../../src/agent/summary.ts';
import { calls, type ModelRequest, type Reply, refuses, says } from '../fakes/model-server.ts';
import { type Rig, said, startRig } from './turn-rig.ts';

const isSummaryRequest = (request: ModelRequest) => request.messages[0]?.text === summaryInstructions;
/** Of requests that are part of a turn. */
const turnRequests = (rig: Rig) => rig.server.requests.filter((request) => !isSummaryRequest(request));
/** Tokens as the scripted provider counts them, so that the agent's guess is put right. */
const counted = (request: ModelRequest, reply: Reply): Reply =>
  'pieces' in reply ? { ...reply, usage: { input: Math.ceil(request.bytes / 4), output: 10 } } : reply;

const settings = { context_tokens: 8000 };

/** A tool that prints a lot in every turn. */
const workScript = (summary: (request: ModelRequest) => Reply) => (request: ModelRequest) => {
  if (isSummaryRequest(request)) return summary(request);
  return counted(request, request.last.role === 'user' ? calls(['print', { text: 'x' }]) : says(`Done with ${request.index}.`));
};

describe('a long conversation', () => {
  it('keeps 300 turns within the context limit and sends the newest question in full', async () => {
    let written = 0;
    await using rig = await startRig(
      workScript(() => says(`Summary ${++written}: they count.`)),
      settings,
    );
    rig.tools = { print: () => 'output '.repeat(300) };
    for (let turn = 0; turn < 300; turn++) {
      const result = await rig.run(`This is question number ${turn}, please answer it.`);
      expect(result.kind).toBe('answered');
      expect(rig.server.requests.at(-1)?.messages.some(({ text }) => text.includes(`question number ${turn},`))).toBe(true);
    }
    const sizes = turnRequests(rig).map(({ bytes }) => bytes);
    expect(Math.max(...sizes)).toBeLessThan(8000 * 4);
    expect(Buffer.byteLength(JSON.stringify(rig.transcript))).toBeLessThan(200_000);
    expect(written).toBeGreaterThan(3);
    // Far from once a turn: it would cost more than it saves.
    expect(written).toBeLessThan(100);
    const last = turnRequests(rig).at(-1);
    expect(last?.messages[1]?.text).toContain(`Summary ${written}: they count.`);
  }, 120_000);

  it('gives the summary model the previous summary and the newer messages, fenced', async () => {
    const seen: string[] = [];
    await using rig = await startRig(
      workScript((request) => {
        seen.push(request.last.text);
        return says(`Summary ${seen.length}.`);
      }),
      settings,
    );
    rig.tools = { print: () => 'output '.repeat(300) };
    for (let turn = 0; seen.length < 2; turn++) await rig.run(`Question ${turn}.`);
    expect(seen[0]).toMatch(/^<conversation-(\w+)>\n<people-(\w+)>\n<message-[\s\S]*\n<\/people-\2>[\s\S]*\n<\/conversation-\1>$/);
    expect(seen[0]).toMatch(/<call-(\w+) of="print">\n{"text":"x"}\n<\/call-\1>/);
    expect(seen[1]).toMatch(/<earlier-(\w+)>\n<summary-[\s\S]*Summary 1\.[\s\S]*\n<\/earlier-\1>/);
  });

  it('tells the day with the summary of the message that told it', async () => {
    await using rig = await startRig(
      workScript(() => says('They count.')),
      settings,
    );
    rig.tools = { print: () => 'output '.repeat(300) };
    await rig.run([{ ...said('Question 0.'), day: 'Monday' }]);
    const days = () => rig.server.requests.at(-1)?.messages.filter(({ text }) => text.startsWith('Today is Monday.'));
    while (rig.summaries.length < 2) {
      await rig.run('Another question.');
      expect(days()).toHaveLength(1);
    }
    expect(days()?.[0]?.text).toContain('They count.');
  });

  it('is not summed up by a model that says nothing, which is given up at once', async () => {
    const never = new Promise(() => undefined);
    await using rig = await startRig(
      workScript(() => ({ pieces: [{ until: never }] })),
      { ...settings, stall_seconds: 0.3 },
    );
    rig.tools = { print: () => 'output '.repeat(300) };
    let result = await rig.run('Question 0.');
    while (result.kind === 'answered') result = await rig.run('Another question.');
    expect(result).toMatchObject({ kind: 'failed', reason: expect.stringContaining('said nothing for 0.3 s') });
    expect(rig.server.requests.filter(isSummaryRequest)).toHaveLength(1);
    expect(isSummaryRequest(rig.server.requests.at(-1) as ModelRequest)).toBe(true);
  });

  it('cuts old tool results before it summarises anything, and leaves the newest alone', async () => {
    await using rig = await startRig(
      workScript(() => expect.unreachable('nothing is to be summed up')),
      settings,
    );
    rig.tools = { print: () => `BEGIN ${'x'.repeat(8000)} END` };
    for (let turn = 0; turn < 3; turn++) await rig.run(`Question ${turn}.`);
    const results = rig.server.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results.map(({ text }) => text.length > 8000)).toEqual([false, false, true]);
    expect(results[0]?.text).toMatch(/^BEGIN x+\n\[\d+ characters left out\]\nx+ END$/);
    expect(JSON.stringify(rig.transcript).match(/x{8000}/g)?.length).toBe(3);
  });

  it('drops the oldest messages from the request when no summary can be made, and keeps the transcript whole', async () => {
    await using rig = await startRig(
      workScript(() => refuses(500, 'no summaries today')),
      settings,
    );
    rig.tools = { print: () => 'output '.repeat(300) };
    for (let turn = 0; turn < 40; turn++) {
      expect((await rig.run(`This is question number ${turn}.`)).kind).toBe('answered');
      expect(JSON.stringify(rig.server.requests.at(-1)?.body)).toContain(`question number ${turn}.`);
    }
    expect(Math.max(...turnRequests(rig).map(({ bytes }) => bytes))).toBeLessThan(8000 * 4);
    expect(rig.summaries).toEqual([]);
    expect(rig.transcript.length).toBe(160);
  });

  it('answers every turn although no summary can be stored', async () => {
    await using rig = await startRig(
      workScript(() => says('Short.')),
      settings,
    );
    rig.tools = { print: () => 'output '.repeat(300) };
    const summarise = () => Promise.reject(new Error('the disk is full'));
    for (let turn = 0; turn < 30; turn++) expect((await rig.run(`Question ${turn}.`, { summarise })).kind).toBe('answered');
    expect(rig.transcript.length).toBe(120);
  });

  it('sends the whole question in every one of 60 long steps', async () => {
    await using rig = await startRig((request) => {
      if (isSummaryRequest(request)) return says('It looks for the needle.');
      return counted(request, turnRequests(rig).length < 60 ? calls(['print', { text: 'x' }]) : says('Found.'));
    }, settings);
    rig.tools = { print: () => 'hay '.repeat(700) };
    const question = `Find the needle with the number 4711. ${'It is in the hay. '.repeat(20)}`;
    expect(await rig.run(question, { maxSteps: 100 })).toEqual({ kind: 'answered', text: 'Found.' });
    expect(rig.summaries.length).toBeGreaterThan(0);
    for (const request of turnRequests(rig)) expect(request.messages.some(({ text }) => text.includes(question))).toBe(true);
    expect(Math.max(...turnRequests(rig).map(({ bytes }) => bytes))).toBeLessThan(8000 * 4);
  });

  it('counts the messages that a summary replaces in the current transcript, also in the middle of a turn', async () => {
    await using rig = await startRig((request) => {
      if (isSummaryRequest(request)) return says('Short.');
      return counted(request, request.index < 30 ? calls(['print', { text: String(request.index) }]) : says('Done.'));
    }, settings);
    rig.tools = { print: ({ text }) => `result ${text} ${'x '.repeat(1000)}` };
    await rig.run('go', { maxSteps: 100 });
    // After the summary comes an answer with its result, and so on to the end: nothing was cut in two.
    const roles = rig.transcript.map((message) => (message as { role: string }).role);
    expect(roles[0]).toBe('user');
    expect(roles.slice(1, -1)).toEqual(Array.from({ length: roles.length - 2 }, (_, index) => (index % 2 === 0 ? 'assistant' : 'tool')));
    expect(roles.at(-1)).toBe('assistant');
  });

  it('replaces the messages the model no longer sees in the transcript, also after a failed summary', async () => {
    let asked = 0;
    await using rig = await startRig((request) => {
      if (isSummaryRequest(request)) return ++asked === 2 ? says('Short.') : refuses(400, 'not now');
      return counted(request, asked < 2 ? calls(['print', { text: String(request.index) }]) : says('Done.'));
    }, settings);
    rig.tools = { print: ({ text }) => `result ${text} ${'x '.repeat(1000)}` };
    await rig.run('go', { maxSteps: 100 });
    const numbers = (value: unknown) => JSON.stringify(value).match(/result \d+/g);
    expect(rig.summaries.length).toBe(1);
    expect(numbers(rig.transcript)).toEqual(numbers(rig.server.requests.at(-1)?.messages));
  });

  it('cuts the middle out of a message that is longer than the context limit', async () => {
    await using rig = await startRig((request) => counted(request, says('That is long.')), settings);
    expect(await rig.run([said(`BEGIN ${'word '.repeat(40_000)} END`)])).toEqual({ kind: 'answered', text: 'That is long.' });
    const last = rig.server.requests.at(-1);
    expect(last?.bytes).toBeLessThan(8000 * 4);
    expect(last?.last.text).toMatch(/BEGIN [\s\S]* characters left out[\s\S]* END/);
  });

  it('shortens the conversation when the provider says that it is too long', async () => {
    await using rig = await startRig((request) => {
      if (isSummaryRequest(request)) return says('Short.');
      if (request.bytes > 12_000) return refuses(400, "This model's maximum context length is 3000 tokens.");
      return says('Fits.');
    });
    rig.transcript = Array.from({ length: 40 }, (_, index) => ({
      role: index % 2 ? 'assistant' : 'user',
      content: `${index} ${'word '.repeat(200)}`,
    }));
    expect(await rig.run('and now?')).toEqual({ kind: 'answered', text: 'Fits.' });
    expect(rig.server.requests.at(-1)?.last.text).toContain('and now?');
  });
});
