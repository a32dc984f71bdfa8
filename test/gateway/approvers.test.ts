import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { codeIn, Rig, type RigOptions } from './rig.ts';

describe('questions for approvers', () => {
  let rig: Rig;
  afterEach(() => rig.close());
  const start = async (approvers: readonly string[], options: RigOptions = {}) => {
    const environment = { TERMINAL_ENV: 'local', HERMETIC_APPROVALS_APPROVERS: JSON.stringify(approvers) };
    rig = await Rig.start({ environment, ...options });
  };
  const marker = () => join(rig.home, 'marker');
  const dangerous = () => `rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker()}`;
  const runs = (): number => (existsSync(marker()) ? readFileSync(marker(), 'utf8').split('\n').length - 1 : 0);
  const withButtons = () => rig.platform.messages.filter((one) => one.buttons?.length);
  const meet = async (person: string, chat = person) => {
    await rig.say('/whoami', { from: person, chat, isAddressed: true });
    await rig.shows(/./, chat);
  };

  it('asks approvers in their direct chats with the asker and the whole command, and tells the asker whom it asked', async () => {
    await start(['admins'], { rules: { admins: ['ada', 'eve'] } });
    await meet('ada');
    await meet('eve');
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Cleaned.'));
    await rig.say('clean up', { from: 'bob' });
    await rig.shows(/^Asked (Ada and Eve|Eve and Ada) to approve this\.$/, 'bob');
    const cards = await until('both have a card', () => (withButtons().length === 2 ? withButtons() : undefined));
    expect(cards.map(({ chat }) => chat).sort()).toEqual(['ada', 'eve']);
    for (const { text } of cards) {
      expect(text).toContain('Bob (fake:bob) asks in a direct chat on fake:');
      expect(text).toContain(dangerous());
    }
    await rig.press('Once', { from: 'eve' });
    await rig.shows('Cleaned.', 'bob');
    await rig.quiet();
    expect(runs()).toBe(1);
    expect(withButtons()).toEqual([]);
    for (const chat of ['ada', 'eve', 'bob']) expect(rig.all(chat)).toContain('Allowed once by fake:eve.');
  });

  it('refuses answers from anyone but an approver, by button or by command', async () => {
    await start(['admins']);
    await meet('ada');
    await rig.say(`/run ${dangerous()}`, { from: 'bob' });
    const code = await codeIn(rig, 'ada');
    await rig.press('Once', { from: 'bob', chat: 'bob', data: `q:${code}:o` });
    await until('he is told', () => rig.noticed.find(({ text }) => text === 'You may not answer this question.'));
    await rig.say(`/approve ${code}`, { from: 'bob' });
    await rig.shows('You may not answer this question.', 'bob');
    await rig.say(`/approve ${code}`, { from: 'cleo' });
    await rig.shows('You may not answer this question.', 'cleo');
    expect(runs()).toBe(0);
    await rig.press('Deny');
    await rig.shows('said no', 'bob');
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it('/approvals lists a question to its approvers in their direct chat only', async () => {
    await start(['fake:cleo']);
    await meet('cleo');
    await rig.say(`/run ${dangerous()}`, { from: 'bob' });
    const code = await codeIn(rig, 'cleo');
    await rig.say('/approvals', { from: 'cleo' });
    await rig.shows(new RegExp(`^\`${code}\`[\\s\\S]*fake:bob asks[\\s\\S]*echo ran`), 'cleo');
    await rig.say('/approvals', { from: 'cleo', chat: 'room', isAddressed: true });
    await rig.shows('No questions pending.', 'room');
    await rig.say('/approvals', { from: 'ada' });
    await rig.shows('No questions pending.', 'ada');
    await rig.say(`/approve ${code}`, { from: 'cleo' });
    await until('it ran', () => runs() === 1);
    await rig.quiet();
  });

  it('asks in the group when an approver takes part in it', async () => {
    await start(['admins']);
    await meet('ada');
    await meet('ada', 'room');
    await rig.say(`/run ${dangerous()}`, { from: 'bob', chat: 'room', isAddressed: true });
    await codeIn(rig, 'room');
    await rig.shows('Asked Ada to approve this.', 'room');
    expect(withButtons().map(({ chat }) => chat)).toEqual(['room']);
    await rig.press('Once', { chat: 'room', from: 'bob' });
    await until('he is told', () => rig.noticed.find(({ text }) => text === 'You may not answer this question.'));
    expect(runs()).toBe(0);
    await rig.press('Once', { chat: 'room' });
    await until('it ran', () => runs() === 1);
    await rig.quiet();
    expect(withButtons()).toEqual([]);
  });

  it("asks in an approver's direct chat when they are not in the group", async () => {
    await start(['admins']);
    await meet('ada');
    await rig.say(`/run ${dangerous()}`, { from: 'bob', chat: 'room', isAddressed: true });
    await rig.shows('Asked Ada to approve this.', 'room');
    await codeIn(rig);
    expect(rig.all()).toContain('Bob (fake:bob) asks in the chat room on fake:');
    await rig.press('Deny');
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it('asks an approver about their own command only', async () => {
    await start(['admins'], { rules: { admins: ['ada', 'eve'] } });
    await meet('eve');
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Cleaned.'));
    await rig.say('clean up');
    await codeIn(rig);
    expect(withButtons().map(({ chat }) => chat)).toEqual(['ada']);
    expect(rig.all()).not.toContain('Asked');
    await rig.press('Once');
    await until('it ran', () => runs() === 1);
    await rig.quiet();
  });

  it('denies at once when no approver can be reached, and tells the asker and the model', async () => {
    await start(['admins', 'other:1', 'fake:stranger']);
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('I see.'));
    await rig.say('clean up', { from: 'bob' });
    await rig.shows('No approver can be reached, so this was not run.', 'bob');
    await rig.shows('I see.', 'bob');
    expect(JSON.stringify(rig.model.requests.at(-1)?.messages)).toContain('no approver can be reached');
    await rig.quiet();
    expect(withButtons()).toEqual([]);
    expect(runs()).toBe(0);
    expect(await rig.store.approvals.list({ state: 'open' })).toEqual([]);
  });

  it('denies at once when the platform refuses every card', async () => {
    await start(['admins']);
    await meet('ada');
    rig.platform.whim = ({ chat }) => (chat === 'ada' ? 'refused' : 'fine');
    await rig.say(`/run ${dangerous()}`, { from: 'bob' });
    await rig.shows('No approver can be reached, so this was not run.', 'bob');
    await rig.quiet();
    expect(runs()).toBe(0);
    expect(await rig.store.cards.list()).toEqual([]);
  });

  it('asks the other approver when one card is refused, and tells the asker', async () => {
    await start(['admins'], { rules: { admins: ['ada', 'eve'] } });
    await meet('ada');
    await meet('eve');
    rig.platform.whim = ({ chat }) => (chat === 'ada' ? 'refused' : 'fine');
    await rig.say(`/run ${dangerous()}`, { from: 'bob' });
    await rig.shows('Ada could not be reached.', 'bob');
    await codeIn(rig, 'eve');
    await rig.press('Once', { from: 'eve' });
    await until('it ran', () => runs() === 1);
    await rig.quiet();
  });

  it('escapes the names of the asker and of the approvers', async () => {
    const evil = 'x`\n```\n[you](http://evil)\u202e';
    await start(['admins'], { rules: { admins: [evil], allowedUsers: [evil, 'bob*'] } });
    await rig.say('/whoami', { from: evil, chat: 'direct', isDirect: true });
    await rig.shows(/./, 'direct');
    await rig.say(`/run ${dangerous()}`, { from: 'bob*' });
    await rig.shows(/^Asked X\\` \\`\\`\\` \\\[you\\\]\\\(http\\:\\\/\\\/evil\\\)⟨U\\?\+202E⟩ to approve this\.$/, 'bob*');
    await codeIn(rig, 'direct');
    expect(rig.texts('direct').at(-1)).toMatch(/^```\nBob\* \(fake:bob\*\) asks[^\n]*\nMay this run/);
    await rig.press('Deny', { from: evil, chat: 'direct' });
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it('sends approvers a long question as a file, and removes its buttons after the answer', async () => {
    await start(['admins']);
    await meet('ada');
    const long = `${dangerous()}\n${Array.from({ length: 400 }, (_, line) => `echo line ${line} of a long command`).join('\n')}`;
    rig.model.script = inTurn(calls(['terminal', { command: long }]), says('I see.'));
    await rig.say('do a lot', { from: 'bob' });
    const card = await until('it is asked', () => withButtons()[0]);
    expect(card.chat).toBe('ada');
    const whole = Buffer.from(card.file?.data ?? []).toString();
    expect(whole).toContain('Bob (fake:bob) asks');
    for (const line of long.split('\n')) expect(whole).toContain(line);
    await rig.press('Deny');
    await rig.shows('I see.', 'bob');
    await rig.quiet();
    expect(withButtons()).toEqual([]);
    expect(runs()).toBe(0);
  });

  it('an answer after a restart settles the question in every chat', async () => {
    await start(['admins'], { rules: { admins: ['ada', 'eve'] } });
    await meet('ada');
    await meet('eve');
    rig.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('Cleaned.'));
    await rig.say('clean up', { from: 'bob' });
    await until('both have a card', () => withButtons().length === 2);
    await rig.stopGateway();
    await rig.startGateway();
    await rig.press('Once');
    await rig.shows('Cleaned.', 'bob');
    await rig.quiet();
    expect(runs()).toBe(1);
    expect(withButtons()).toEqual([]);
    expect(rig.texts('eve').filter((text) => text.includes('May this run'))).toHaveLength(1);
  });
});
