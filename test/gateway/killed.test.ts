import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { bob } from '../fakes/bot-api-world.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { commandLines } from '../processes.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program, type ProgramOptions } from './program.ts';

const never = new Promise<never>(() => undefined);

describeContained('a killed gateway', () => {
  let program: Program;
  const start = async (options: ProgramOptions = {}) => {
    program = await Program.start(options);
  };
  afterEach(() => program.close());
  const say = (text: string) => program.api.world.says({ text });
  const lines = (name: string): number => {
    const path = join(program.home, name);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
  };
  /** Nothing more comes, though there was time: another message is answered after it. */
  const settled = async () => {
    program.model.script = () => says('That is all.');
    say('and now?');
    await program.shows('That is all.');
  };

  it('answers a message once that was accepted before the kill', async () => {
    await start({ script: () => never });
    say('hello');
    await until('the model was asked', () => program.model.requests.length === 1);
    await program.kill();
    program.model.script = () => says('Hello to you.');
    await program.start();
    await program.shows('Hello to you.');
    await settled();
    expect(program.texts()).toEqual(['Hello to you.', 'That is all.']);
  });

  it('answers messages sent while it was down, in order', async () => {
    await start({
      config: { gateway: { busy_mode: 'queue' } },
      script: ({ last }) => says(`heard ${/message (\d)/.exec(last.text)?.[1]}`),
    });
    await program.kill();
    say('message 1');
    say('/run echo message two');
    say('message 3');
    await program.start();
    await program.shows('heard 3');
    expect(program.texts().map((text) => text.trim())).toEqual(['heard 1', expect.stringContaining('message two'), 'heard 3']);
  });

  it('finishes a half-sent answer in the same message after a kill', async () => {
    await start({ script: () => ({ pieces: [{ text: 'It was a dark ' }, { text: 'and stormy' }, { until: never }] }) });
    say('tell me a story');
    await program.shows('It was a dark');
    await program.told();
    await program.kill();
    program.model.script = () => says('It was a bright and sunny day.');
    await program.start();
    await program.shows('It was a bright and sunny day.');
    await settled();
    expect(program.texts()).toEqual(['It was a bright and sunny day.', 'That is all.']);
  });

  it('asks the model again for the whole answer after a stop in the middle of it', async () => {
    await start({ script: () => ({ pieces: [{ text: 'It was a dark ' }, { text: 'and stormy' }, { until: never }] }) });
    say('tell me a story');
    await program.shows('It was a dark');
    await program.told();
    await program.stop();
    program.model.script = () => says('It was a bright and sunny day.');
    await program.start();
    await program.shows('It was a bright and sunny day.');
    await settled();
    expect(program.texts()).toEqual(['It was a bright and sunny day.', 'That is all.']);
  });

  it('answers a steering message after the interruption that kept it from its turn', async () => {
    await start({ backend: 'local', config: { approvals: { mode: 'off' }, gateway: { busy_mode: 'steer' } } });
    program.model.script = inTurn(calls(['terminal', { command: `echo ran >> ${program.home}/marker; sleep 65432` }]));
    say('work');
    await until('it runs', () => lines('marker') === 1);
    say('hurry up');
    await until('it was taken', () => program.api.unconfirmed.length === 0);
    await program.kill();
    program.model.script = () => says('I hurry.');
    await program.start();
    await program.shows('I hurry.');
    await settled();
    expect(program.texts()).toEqual([expect.stringContaining('I was interrupted while running terminal'), 'I hurry.', 'That is all.']);
  });

  it('reports a tool that the kill interrupted, and does not run it again', async () => {
    await start({ backend: 'local', config: { approvals: { mode: 'off' } } });
    program.model.script = inTurn(
      calls(['terminal', { command: `echo ran >> ${program.home}/marker; sleep 98765` }]),
      says('I did it all again.'),
    );
    const { message_id: said } = say('work');
    await until('it runs', () => lines('marker') === 1);
    await program.restart();
    expect(await program.shows('I was interrupted while running terminal')).toMatchObject({ replyTo: said });
    await settled();
    expect(lines('marker')).toBe(1);
    expect(program.texts().length).toBe(2);
    await until('nothing of it runs', () => !commandLines().includes('sleep 98765'));
  });

  it('reports a typed command that the kill interrupted, and does not run it again', async () => {
    await start({ backend: 'local' });
    const { message_id: said } = say(`/run echo ran >> ${program.home}/marker; sleep 87654`);
    await until('it runs', () => lines('marker') === 1);
    await program.restart();
    const shown = await program.shows('I was interrupted while running /run');
    expect(shown).toMatchObject({ replyTo: said, text: expect.stringContaining('/marker; sleep 87654') });
    await settled();
    expect(lines('marker')).toBe(1);
    await until('nothing of it runs', () => !commandLines().includes('sleep 87654'));
  });

  const dangerous = () => `rm -rf ${program.home}/nothing; echo ran >> ${program.home}/marker`;

  it.each(['kill', 'stop'] as const)(
    'after a %s acts once on the answer to an open question',
    async (how) => {
      await start({ backend: 'local' });
      program.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Cleaned.'));
      say('clean up');
      const card = await program.shows('May this run');
      await program.told();
      await program[how]();
      await program.start();
      program.api.world.presses(1001, card.id, 'Once');
      await program.shows('Cleaned.');
      await program.told();
      expect(lines('marker')).toBe(1);
      await program.restart();
      await settled();
      expect(lines('marker')).toBe(1);
      expect(program.texts()).toEqual([expect.stringMatching(/May this run[\s\S]*Allowed once/), 'Cleaned.', 'That is all.']);
    },
    60_000,
  );

  it('acts once on an answer that was given while it was down', async () => {
    await start({ backend: 'local' });
    program.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Cleaned.'));
    say('clean up');
    const card = await program.shows('May this run');
    await program.told();
    await program.kill();
    program.api.world.presses(1001, card.id, 'Once');
    await program.start();
    await program.shows('Cleaned.');
    await program.told();
    await program.restart();
    await settled();
    expect(lines('marker')).toBe(1);
  });

  it('runs a typed command once when its question is answered after a kill', async () => {
    await start({ backend: 'local' });
    program.api.world.says({ text: `/run ${dangerous()}`, from: bob });
    const card = await program.shows('May this run', bob.id);
    await program.told();
    await program.restart();
    program.api.world.presses(bob.id, card.id, 'Once', bob);
    await until('it ran', () => lines('marker') === 1);
    await settled();
    expect(lines('marker')).toBe(1);
    expect(program.texts(bob.id).join()).not.toContain('interrupted');
  });

  it('sends an answer once that was waiting to be sent at the kill', async () => {
    await start();
    program.api.fail('sendMessage', { status: 429, retryAfter: 1 });
    say('hello');
    await program.putOff();
    await program.kill();
    program.model.script = () => says('said a second time');
    await program.start();
    await program.shows('Fine.');
    await settled();
    expect(program.texts()).toEqual(['Fine.', 'That is all.']);
  });

  it('repeats an answer in flight at the kill once, marked as a possible repeat', async () => {
    await start();
    program.api.fail('sendMessage', { answerAfter: never });
    say('hello');
    await program.shows('Fine.');
    await program.restart();
    await program.shows('(possible repeat)');
    await settled();
    expect(program.texts()).toEqual(['Fine.', '(possible repeat)\n\nFine.', 'That is all.']);
  });

  it('sends an answer once that was being edited into a message at the kill', async () => {
    const begun = Promise.withResolvers<void>();
    await start({ script: () => ({ pieces: [{ text: 'It was a dark ' }, { until: begun.promise }, { text: 'and stormy night.' }] }) });
    say('tell me a story');
    await program.shows('It was a dark');
    await program.told();
    program.api.fail('editMessageText', { answerAfter: never });
    begun.resolve();
    await program.shows('It was a dark and stormy night.');
    await program.restart();
    await settled();
    expect(program.texts()).toEqual(['It was a dark and stormy night.', 'That is all.']);
  });

  it('continues a turn that was summarised before the kill, and processes no message twice', async () => {
    await start({ backend: 'local', config: { model: { context_tokens: 20_000 }, gateway: { busy_mode: 'steer' } } });
    const { promise: isSteered, resolve: steered } = Promise.withResolvers<void>();
    const long = { command: 'head -c 46000 /dev/zero | tr "\\0" x' };
    const texts = ['First.', 'Second.'];
    let summaries = 0;
    program.model.script = async ({ tools, bytes }) => {
      await isSteered;
      const usage = { input: Math.ceil(bytes / 3.5) };
      const text = tools.length === 0 ? `Summary ${++summaries}.` : texts.shift();
      if (text === undefined) return never;
      return { pieces: [{ text }, ...(tools.length === 0 ? [] : [{ call: 'terminal', input: long }])], usage };
    };
    say('work');
    await until('the first answer is asked for', () => program.model.requests.length === 1);
    say('and hurry up');
    await until('it was taken', () => program.api.unconfirmed.length === 0);
    steered();
    await until('the third answer is asked for', () => program.model.requests.filter(({ tools }) => tools.length > 0).length === 3);
    expect(summaries).toBe(1);
    await program.told();
    expect(program.texts()).toEqual(['First.', 'Second.']);
    await program.kill();
    program.model.script = inTurn(says('Third.'), says('Heard twice.'));
    await program.start();
    await program.shows('Third.');
    await settled();
    expect(program.texts()).toEqual(['First.', 'Second.', 'Third.', 'That is all.']);
    const heard =
      program.model.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join('\n') ?? '';
    expect(heard.split('and hurry up')).toHaveLength(2);
  });

  it('refuses a second gateway for the same home', async () => {
    await start();
    const first = program.pid;
    await expect(program.start()).rejects.toThrow(/already running for this home/);
    process.kill(first, 'SIGKILL');
  });
});

describeContained('sandboxes', () => {
  let program: Program | undefined;
  afterAll(() => program?.close());

  it('the sandboxes of a killed gateway end with it', async () => {
    program = await Program.start();
    program.api.world.says({ text: '/run echo up; sleep 76543' });
    await until('it runs', () => commandLines().includes('sleep 76543'));
    await program.kill();
    await until('all is gone', () => !commandLines().includes('sleep 76543'));
  });
});
