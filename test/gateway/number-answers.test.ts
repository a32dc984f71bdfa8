import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { choiceFor, choices, numberFor } from '../../src/gateway/questions/short-answers.ts';
import { says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Rig } from './rig.ts';

describe('questions where there are no buttons', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await Rig.start({
      environment: { TERMINAL_ENV: 'local' },
      rules: { admins: ['chief'], allowedUsers: ['ada', 'bob'] },
      traits: { buttons: false, reactions: true },
      settings: { busyMode: 'queue' },
    });
  });
  afterEach(async () => {
    await rig.quiet();
    await rig.close();
  });
  const marker = (): string => join(rig.home, 'marker');
  const runs = (): number => (existsSync(marker()) ? readFileSync(marker(), 'utf8').split('\n').length - 1 : 0);
  const card = (chat = 'ada') => rig.shows('Reply to this message with a number', chat);
  const asks = (chat = 'ada') =>
    rig.say(`/run rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker()}`, { chat, isDirect: true, isAddressed: true });
  const callsOf = (command: string) => [{ call: 'terminal', input: { command } }];
  const numbersIn = (text: string): string[] => [...text.matchAll(/\*\*(\d{4})\*\*/g)].map(([, number = '']) => number);

  it('a number answers the question', async () => {
    await asks();
    const [once = ''] = numbersIn(await card());
    await rig.say(` ${once} `);
    await rig.shows('Answer recorded.');
    await rig.quiet();
    expect(runs()).toBe(1);
  });

  it('a number that was said denies, and says so in the card', async () => {
    await asks();
    await rig.say(numbersIn(await card())[3] ?? '');
    await rig.shows(/with a number[\s\S]*Denied/);
    expect(runs()).toBe(0);
  });

  it.each(['1', '4', 'yes', 'of another question', 'forwarded', 'in a sentence'])('this is no answer: %s', async (kind) => {
    await asks();
    const [once = '', , , deny = ''] = numbersIn(await card());
    const other = `${once.startsWith('5') ? '6' : '5'}${once.slice(1)}`;
    const said = { 'of another question': other, forwarded: once, 'in a sentence': `${once} please` }[kind] ?? kind;
    await rig.say(said, kind === 'forwarded' ? { forwarded: { from: 'Eve' } } : {});
    await rig.say(deny);
    await rig.shows('Denied');
    await rig.quiet();
    expect(runs()).toBe(0);
    expect(rig.all()).toContain('Fine.');
  });

  it('the number of a question in another chat is no answer here', async () => {
    await asks('room');
    const [once = '', , , deny = ''] = numbersIn(await card('room'));
    await rig.say(once);
    await rig.shows('Fine.');
    expect(runs()).toBe(0);
    await rig.say(deny, { chat: 'room', isDirect: true, isAddressed: true });
    await rig.shows('Denied', 'room');
  });

  it('a person who may not answer does not answer by its number', async () => {
    const group = { chat: 'group', isAddressed: true };
    await rig.say(`/run rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker()}`, group);
    const [once = '', , , deny = ''] = numbersIn(await card('group'));
    // In a session of their own, which has no question.
    await rig.say(once, { ...group, from: 'bob' });
    await rig.shows('You may not answer this question.', 'group');
    await rig.say(deny, group);
    await rig.shows('Denied', 'group');
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it('a number that was said before the question is no answer to it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const command = `rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker()}`;
    rig.model.script = ({ index }) => (index === 0 ? { pieces: [{ until: promise }, ...callsOf(command)] } : says('Fine.'));
    await rig.say('clean up');
    await until('a turn runs', () => rig.model.requests.length === 1);
    for (let first = 10; first < 100; first += 1) await rig.say(`${first}1`);
    resolve();
    const [, , , deny = ''] = numbersIn(await card());
    await rig.say('/whoami');
    await rig.shows('Your role');
    await rig.say(deny);
    await rig.shows(/with a number[\s\S]*Denied/);
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it.each([
    ['👍', 1],
    ['👍🏽', 1],
    ['👎', 0],
  ])('the reaction %s to the card answers it', async (emoji, count) => {
    await asks();
    await card();
    const message = rig.platform.messages.findLast(({ text }) => text.includes('react to it'))?.id ?? '';
    await rig.press('', { data: 'reaction:❤️', message });
    await rig.press('', { data: 'reaction:👍', message: 'another message' });
    await until('both were looked at', async () => (await rig.store.inbox.list('waiting')).length === 0);
    expect(runs()).toBe(0);
    await rig.press('', { data: `reaction:${emoji}`, message });
    await rig.shows(count === 1 ? 'Allowed' : 'Denied');
    await rig.quiet();
    expect(runs()).toBe(count);
    expect(rig.noticed.filter(({ text }) => text?.includes('expired'))).toEqual([]);
  });

  it('the reaction of an approver to the message that says who is asked is no answer: it does not show the command', async () => {
    await rig.close();
    rig = await Rig.start({
      environment: { TERMINAL_ENV: 'local', HERMETIC_APPROVALS_APPROVERS: '["admins"]' },
      rules: { admins: ['chief'], allowedUsers: ['ada'] },
      traits: { buttons: false, reactions: true },
    });
    await rig.say('/whoami', { from: 'chief' });
    await rig.shows(/./, 'chief');
    await rig.say(`/run rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker()}`, { chat: 'room', isAddressed: true });
    await rig.shows('Asked Chief to approve this.', 'room');
    await card('chief');
    const message = rig.platform.messages.findLast(({ text }) => text.includes('Asked Chief'))?.id ?? '';
    await rig.press('', { from: 'chief', chat: 'room', data: 'reaction:👍', message });
    await until('it was looked at', async () => (await rig.store.inbox.list('waiting')).length === 0);
    await rig.say(numbersIn(await card('chief'))[3] ?? '', { from: 'chief' });
    await rig.shows('Denied', 'chief');
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it('gives each answer a number of its own', () => {
    const numbers = choices.map((choice) => numberFor('ABCDEF', choice));
    expect(new Set(numbers).size).toBe(4);
    expect(numbers.map((number) => choiceFor('ABCDEF', number))).toEqual([...choices]);
    expect(choiceFor('ABCDEF', '1')).toBeUndefined();
  });
});
