import { afterEach, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

type Where = { from: string; chat: string };

const adaDirect: Where = { from: 'ada', chat: 'ada' };
const adaInRoom: Where = { from: 'ada', chat: 'room' };
const bobInRoom: Where = { from: 'bob', chat: 'room' };
const bobDirect: Where = { from: 'bob', chat: 'bob' };
const everywhere = [adaDirect, adaInRoom, bobInRoom, bobDirect];

describeContained('gateway.sandbox_scope with several live chats', () => {
  let rig: Rig;
  afterEach(() => rig.close());
  const start = async (scope: string): Promise<void> => {
    rig = await Rig.start({ environment: { HERMETIC_GATEWAY_SANDBOX_SCOPE: scope } });
  };
  const say = (where: Where, text: string) => rig.say(text, { ...where, isAddressed: true });
  const run = (where: Where, command: string) => say(where, `/run ${command}`);
  const sandboxes = async (): Promise<number> => (await rig.app.sandboxes.list()).length;

  it.each([
    ['session', [['ada'], ['ada-room'], ['bob-room'], ['bob']]],
    [
      'user',
      [
        ['ada', 'ada-room'],
        ['ada', 'ada-room'],
        ['bob-room', 'bob'],
        ['bob-room', 'bob'],
      ],
    ],
    ['chat', [['ada'], ['ada-room', 'bob-room'], ['ada-room', 'bob-room'], ['bob']]],
    ['shared', Array(4).fill(['ada', 'ada-room', 'bob-room', 'bob'])],
  ])('%s: chats at once see the files of those they share a sandbox with, and no others', async (scope, seen) => {
    await start(scope);
    const names = ['ada', 'ada-room', 'bob-room', 'bob'];
    await Promise.all(everywhere.map((where, index) => run(where, `touch ${names[index]}.file; echo touched-${names[index]}`)));
    for (const [index, { chat }] of everywhere.entries()) await rig.shows(`touched-${names[index]}`, chat);
    await rig.quiet();
    for (const [index, where] of everywhere.entries()) {
      await run(where, `echo list-${names[index]}: *.file :end`);
      const text = await rig.shows(new RegExp(`list-${names[index]}: .* :end`), where.chat);
      const listed = new RegExp(`list-${names[index]}: (.*) :end`).exec(
        text.split('\n').findLast((line) => line.includes('list-')) ?? '',
      )?.[1];
      expect(listed?.split(' ').toSorted()).toEqual((seen[index] ?? []).map((name: string) => `${name}.file`).toSorted());
    }
    expect(await sandboxes()).toBe(new Set(seen.map((one) => one.join())).size);
  });

  it('runs commands of two chats at the same time in the sandbox that they share', async () => {
    await start('user');
    await Promise.all([
      run(adaDirect, 'touch one; until [[ -e two ]]; do sleep 0.05; done; echo one-is-done'),
      run(adaInRoom, 'touch two; until [[ -e one ]]; do sleep 0.05; done; echo two-is-done'),
    ]);
    await rig.shows('one-is-done', 'ada');
    await rig.shows('two-is-done', 'room');
    expect(await sandboxes()).toBe(1);
  });

  it.each(['/new', '/stop'])('%s in one chat leaves the command of the other chat and its sandbox alone', async (command) => {
    await start('user');
    await run(adaDirect, 'touch runs; until [[ -e go ]]; do sleep 0.05; done; echo it-went-on');
    await run(adaInRoom, 'until [[ -e runs ]]; do sleep 0.05; done; echo both-run; sleep 1000');
    await until('both run', () => rig.gateway.busy === 2);
    await say(adaInRoom, command);
    await until('one is over', () => rig.gateway.busy <= 1);
    await run(adaInRoom, 'touch go');
    await rig.shows('it-went-on', 'ada');
    expect(await sandboxes()).toBe(1);
  });

  it('opens the sandbox for the other chat when the chat that asked for it first stops', async () => {
    await start('user');
    await Promise.all([run(adaDirect, 'echo first'), run(adaInRoom, 'echo the-other-one')]);
    await say(adaDirect, '/stop');
    await rig.shows('the-other-one', 'room');
  });

  it('tells the model of one chat where the other chat has gone in the sandbox that they share', async () => {
    await start('user');
    rig.model.script = inTurn(calls(['terminal', { command: 'cd /tmp && echo moved' }]), says('It moved.'));
    await say(adaDirect, 'move');
    await rig.shows('It moved.', 'ada');
    rig.model.script = inTurn(calls(['terminal', { command: 'pwd' }]), says('It looked.'));
    await say(adaInRoom, 'where are we?');
    await rig.shows('It looked.', 'room');
    expect(rig.model.requests.at(-1)?.last.text).toMatch(/The directory of the session is now .*\/tmp/);
  });

  it('asks in each chat for itself, and a yes in one allows nothing in the other', async () => {
    rig = await Rig.start({ environment: { HERMETIC_GATEWAY_SANDBOX_SCOPE: 'user', TERMINAL_ENV: 'local' } });
    const dangerous = `rm -rf ${rig.home}/nothing`;
    rig.model.script = inTurn(calls(['terminal', { command: `${dangerous}; touch first` }]), says('It is over.'));
    await say(adaDirect, 'work');
    await rig.shows('May this run', 'ada');
    await rig.press('This session', { chat: 'ada' });
    await rig.shows('It is over.', 'ada');
    rig.model.script = inTurn(calls(['terminal', { command: `${dangerous}; touch second` }]), says('It is over here.'));
    await say(adaInRoom, 'work');
    await rig.shows('May this run', 'room');
    await rig.press('Deny', { chat: 'room' });
    await rig.shows('It is over here.', 'room');
    await run(adaDirect, 'echo files: $(echo first second | xargs ls 2>/dev/null) :end');
    await rig.shows('files: first :end', 'ada');
  });
});
