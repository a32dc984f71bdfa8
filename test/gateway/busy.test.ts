import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { calls, inTurn, type Reply, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

/** A provider that answers each request when the test says so. */
class Held {
  readonly #waiting: ((reply: Reply) => void)[] = [];
  asked = 0;
  readonly script = async (): Promise<Reply> => {
    this.asked += 1;
    return await new Promise<Reply>((resolve) => this.#waiting.push(resolve));
  };

  async answer(reply: Reply): Promise<void> {
    (await until('the model was asked', () => this.#waiting.shift()))(reply);
  }

  async isAsked(times: number): Promise<void> {
    await until(`the model was asked ${times} times`, () => this.asked >= times);
  }
}

describeContained('messages during a turn', async () => {
  const rig = await Rig.start();
  afterAll(() => rig.close());
  let chats = 0;
  let chat = '';
  let held = new Held();
  beforeEach(() => {
    chat = `room-${++chats}`;
    held = new Held();
    rig.activities.length = 0;
    rig.model.script = held.script;
  });
  afterEach(() => {
    rig.settings.busyMode = 'interrupt';
    rig.settings.sharing = { groups: 'per_user', threads: 'shared' };
  });
  const say = (text: string, from = 'ada') => rig.say(text, { from, chat, isDirect: true, isAddressed: true });
  const shows = (what: string | RegExp) => rig.shows(what, chat);
  const goes = () => until('it runs', () => rig.activities.some((one) => one.kind === 'tool-output' && one.text.includes('going')));

  it('interrupt: the next message ends the turn, and the model gets both', async () => {
    await say('write a poem');
    await held.isAsked(1);
    await say('no, a joke');
    await held.isAsked(2);
    expect(rig.lastPrompt).toMatch(/write a poem[\s\S]*no, a joke/);
    await held.answer(says('too late'));
    await held.answer(says('a joke'));
    await shows('a joke');
    await rig.quiet();
    expect(rig.texts(chat)).toEqual(['a joke']);
  });

  it("interrupt: the agent's running command ends inside its sandbox", async () => {
    await say('count for ever');
    await held.answer(calls(['terminal', { command: 'date > beat; echo going; while sleep 0.05; do date +%N > beat; done' }]));
    await goes();
    await say('stop that');
    await held.answer(says('Stopped counting.'));
    await shows('Stopped counting.');
    await say('/run cat beat > one; sleep 0.3; cmp beat one && echo still');
    await shows('still');
  });

  it('interrupt: a message that waited when the turn began does not end it', async () => {
    await say('first');
    await held.isAsked(1);
    await say('/run sleep 0.4 && echo "ran to" "its end"');
    await say('third');
    await shows('ran to its end');
    await held.answer(says('void'));
    await held.answer(says('the third'));
    await shows('the third');
  });

  it('interrupt: /queue and /status do not interrupt the turn', async () => {
    await say('first');
    await held.isAsked(1);
    await say('/queue second');
    await shows('Queued.');
    await say('/status');
    await shows('Messages waiting: 1');
    await held.answer(says('the first'));
    await shows('the first');
    await held.answer(says('the second'));
    await shows('the second');
    expect(held.asked).toBe(2);
    expect(rig.lastPrompt).toContain('second');
  });

  it('queue: the next turn answers all messages that came during the turn, in order', async () => {
    rig.settings.busyMode = 'queue';
    await say('one');
    await held.isAsked(1);
    await say('two');
    await say('three');
    await held.answer(says('first'));
    await held.answer(says('both'));
    await shows('both');
    await rig.quiet();
    expect(rig.texts(chat)).toEqual(['first', 'both']);
    expect(rig.lastPrompt).toMatch(/one[\s\S]*two[\s\S]*three/);
    expect(held.asked).toBe(2);
  });

  it('steer: a message reaches the turn between two steps, once', async () => {
    rig.settings.busyMode = 'steer';
    await say('look around');
    await held.isAsked(1);
    await say('in the garden');
    await rig.gateway.accept(await say('/status'));
    await held.answer(calls(['terminal', { command: 'true' }]));
    await held.isAsked(2);
    expect(rig.lastPrompt).toMatch(/look around[\s\S]*in the garden/);
    await held.answer(says('A rose.'));
    await shows('A rose.');
    await rig.quiet();
    expect(held.asked).toBe(2);
  });

  it('/steer steers in any mode, and a message too late for its turn gets the next one', async () => {
    await say('look around');
    await held.isAsked(1);
    await say('/steer under the bed');
    await shows('Sent to the running turn.');
    await held.answer(says('Nothing here.'));
    await shows('Nothing here.');
    await held.isAsked(2);
    expect(rig.lastPrompt).toContain('under the bed');
    await held.answer(says('A monster.'));
    await shows('A monster.');
    await rig.quiet();
    expect(held.asked).toBe(2);
  });

  it('a typed command takes no steering, and /steer does not interrupt it', async () => {
    await say('/run sleep 0.4; echo finished');
    await until('it runs', () => rig.gateway.busy > 0);
    await say('/steer faster');
    await shows('Nothing was running, so it is queued.');
    await shows('finished');
    await held.answer(says('heard'));
    await shows('heard');
  });

  it("a message keeps its speaker's name in a turn that several people share", async () => {
    rig.settings.sharing = { groups: 'shared', threads: 'shared' };
    rig.settings.busyMode = 'queue';
    const shared = { chat, isAddressed: true };
    await rig.say('from bob', { from: 'bob', ...shared });
    await held.isAsked(1);
    await rig.say('from cleo', { from: 'cleo', ...shared });
    await rig.say('from ada', { from: 'ada', ...shared });
    await rig.say('/steer steered by cleo', { from: 'cleo', ...shared });
    await rig.shows('Sent to the running turn.', chat);
    await held.answer(calls(['terminal', { command: 'true' }]));
    await held.answer(says('done'));
    await held.answer(says('done too'));
    await shows('done too');
    for (const [name, words] of Object.entries({ Bob: 'from bob', Cleo: 'from cleo', Ada: 'from ada' }))
      expect(rig.lastPrompt).toMatch(new RegExp(`from="${name}">\\n${words}\\n`));
    expect(rig.lastPrompt).toMatch(/from="Cleo">\nsteered by cleo\n/);
  });

  it('a user cannot steer the turn of an admin', async () => {
    rig.settings.sharing = { groups: 'shared', threads: 'shared' };
    const shared = { chat, isAddressed: true };
    await rig.say('an admin works', { from: 'ada', ...shared });
    await held.isAsked(1);
    await rig.say('/steer and a user talks into it', { from: 'bob', ...shared });
    await rig.shows('Nothing was running, so it is queued.', chat);
    await held.answer(calls(['terminal', { command: 'true' }]));
    await held.isAsked(2);
    expect(rig.lastPrompt).not.toContain('talks into it');
    await held.answer(says('first'));
    await held.answer(says('second'));
    await shows('second');
  });

  it('/stop ends the turn and its commands', async () => {
    await say('count for ever');
    await held.answer(calls(['terminal', { command: 'date > beat; echo going; while sleep 0.05; do date +%N > beat; done' }]));
    await goes();
    await say('/stop');
    await shows('Stopped.');
    await rig.quiet();
    expect(held.asked).toBe(1);
    await say('/run cat beat > one; sleep 0.3; cmp beat one && echo still');
    await shows('still');
  });

  it('/stop ends a typed command', async () => {
    await say('/run sleep 600');
    await until('it runs', () => rig.gateway.busy > 0);
    await say('/stop');
    await shows('Stopped.');
    await rig.quiet();
  });

  it('/retry ends the turn and starts again with the same message', async () => {
    await say('write a poem');
    await held.isAsked(1);
    await say('/retry');
    await held.isAsked(2);
    await held.answer(says('void'));
    await held.answer(says('a better poem'));
    await shows('a better poem');
    await rig.quiet();
    expect(rig.texts(chat)).toEqual(['a better poem']);
  });

  it('/new ends the turn and drops its answer and its messages', async () => {
    await say('a secret plan');
    await held.isAsked(1);
    await say('/new');
    await shows('Started a new conversation.');
    await say('what now?');
    await held.answer(says('void'));
    await held.answer(says('Whatever you like.'));
    await shows('Whatever you like.');
    expect(rig.lastPrompt).not.toContain('secret plan');
  });

  it('a busy session does not delay other sessions', async () => {
    await say('busy');
    await held.isAsked(1);
    await rig.say('/run echo meanwhile', { from: 'bob' });
    await rig.shows('meanwhile', 'bob');
    expect(rig.texts(chat)).toEqual([]);
    await held.answer(says('at last'));
    await shows('at last');
  });
});

describeContained('turns', async () => {
  const rig = await Rig.start({ settings: { maxSteps: 3 } });
  afterAll(() => rig.close());

  it('reports a refusal of the provider once, and the next turn works', async () => {
    rig.model.script = () => ({ status: 400, message: 'no such model' });
    await rig.say('hello');
    await rig.shows('I could not answer.');
    await rig.quiet();
    expect(rig.texts().length).toBe(1);
    rig.model.script = () => says('Here I am.');
    await rig.say('hello?');
    await rig.shows('Here I am.');
  });

  it('ends a turn at the step limit and says so', async () => {
    rig.model.script = () => calls(['terminal', { command: 'true' }]);
    await rig.say('for ever', { from: 'bob' });
    await rig.shows('I took 3 steps and stopped.', 'bob');
    await rig.quiet();
    expect(rig.texts('bob').length).toBe(1);
  });

  it('shows the text between tool calls once each, in order', async () => {
    rig.model.script = inTurn(
      { pieces: [{ text: 'I look.' }, { call: 'terminal', input: { command: 'true' } }] },
      { pieces: [{ text: 'I look again.' }, { call: 'terminal', input: { command: 'true' } }] },
      says('Nothing there.'),
    );
    const shownWithTools: string[] = [];
    rig.activities.push = (...some) => shownWithTools.push(...some.map(({ kind }) => `${kind} ${rig.texts('cleo').length}`));
    await rig.say('look', { from: 'cleo' });
    await rig.shows('Nothing there.', 'cleo');
    await rig.quiet();
    expect(rig.texts('cleo')).toEqual(['I look.', 'I look again.', 'Nothing there.']);
    expect(shownWithTools).toEqual(['turn-started 0', 'tool-started 1', 'tool-ended 1', 'tool-started 2', 'tool-ended 2', 'turn-ended 3']);
  });
});

describeContained('conversations', async () => {
  const hour = 3_600_000;
  const rig = await Rig.start({ settings: { reset: { when: 'idle', idleMs: hour } } });
  afterAll(() => rig.close());

  it('starts a new conversation after the idle time, also after a single message, and ends grants and yolo', async () => {
    const parts = ['session', 'fake', 'null', 'ada', 'null', '"ada"'];
    const place = { platform: 'fake', workspace: undefined, chat: 'ada', thread: undefined };
    const long = new Date(Date.now() - 2 * hour);
    await rig.store.conversations.session(parts, { title: 'fake Ada', place }, long);
    await rig.store.conversations.append(parts, 'old', [{ role: 'user', content: 'an old story' }], long);
    await rig.say('/yolo');
    await rig.shows('Turned approvals off for you');
    await rig.say('hello');
    await rig.shows('Fine.');
    expect(rig.lastPrompt).not.toContain('an old story');
    const told = () => rig.texts().filter((text) => text.startsWith('This is a new conversation, because nothing was said here for 2 h.'));
    expect(told()).toHaveLength(1);
    expect(rig.all()).not.toContain('Approvals are off');
    await rig.say('and again');
    await rig.quiet();
    expect(told()).toHaveLength(1);
    expect(rig.lastPrompt).toMatch(/hello[\s\S]*and again/);
  });
});
