import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { codeIn, Rig } from './rig.ts';

describe('the rights of an admin', async () => {
  const rules = { admins: ['ada', 'eve'], allowedUsers: ['bob'] };
  const rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' }, rules });
  afterAll(() => rig.close());
  let count = 0;
  let chat = '';
  let marker = '';
  beforeEach(() => {
    chat = `room-${++count}`;
    marker = join(rig.home, `marker-${count}`);
    Object.assign(rig.rules, rules);
  });
  const dangerous = () => `rm -rf ${join(rig.home, 'nothing')} ; echo ran >> ${marker}`;
  const runs = (): number => (existsSync(marker) ? readFileSync(marker, 'utf8').split('\n').length - 1 : 0);
  const agentRuns = (command: string, then: string) => {
    rig.model.script = inTurn(calls(['terminal', { command }]), says(then));
  };
  const inThread = (text: string, from: string) => rig.say(text, { from, chat, thread: 'shared', isAddressed: true });
  const direct = (text: string, from: string, more = {}) => rig.say(text, { from, chat, isDirect: true, ...more });
  const shows = (what: string | RegExp) => rig.shows(what, chat);

  it("yolo covers the admin's own turns, and no one else's in a shared thread", async () => {
    await inThread('/yolo', 'ada');
    await shows('Everyone else is still asked.');
    for (const [index, from] of ['ada', 'bob', 'eve', 'ada'].entries()) {
      agentRuns(dangerous(), `Answer ${index}.`);
      await inThread(`clean up ${index}`, from);
      if (from !== 'ada') {
        const code = await codeIn(rig, chat);
        await inThread(`/deny ${code}`, from);
      }
      await shows(`Answer ${index}.`);
      await rig.quiet();
    }
    expect(runs()).toBe(2);
    const notices = rig.texts(chat).filter((text) => text.includes('Approvals are off for you'));
    expect(notices).toHaveLength(2);
    await inThread('/status', 'bob');
    await shows(/YOLO: approvals are off in this session, for .* \(only for fake:ada\)/);
    await inThread('/yolo off', 'eve');
    await shows('Approvals are on again for everyone in this session.');
    agentRuns(dangerous(), 'Answer 9.');
    await inThread('clean up', 'ada');
    await inThread(`/deny ${await codeIn(rig, chat)}`, 'ada');
    await shows('Answer 9.');
    expect(runs()).toBe(2);
  });

  it("yolo does not cover another admin's message in the same turn", async () => {
    const [begun, end] = [join(rig.home, `begun-${count}`), join(rig.home, `end-${count}`)];
    const wait = `touch ${begun}; until [ -e ${end} ]; do sleep 0.05; done`;
    rig.model.script = inTurn(calls(['terminal', { command: wait }]), calls(['terminal', { command: dangerous() }]), says('Refused.'));
    await inThread('/yolo', 'ada');
    await inThread('wait', 'ada');
    await until('it runs unasked', () => existsSync(begun));
    await inThread('/steer clean up, too', 'eve');
    await shows('Sent to the running turn.');
    writeFileSync(end, '');
    await inThread(`/deny ${await codeIn(rig, chat)}`, 'ada');
    await shows('Refused.');
    expect(runs()).toBe(0);
    await inThread('/yolo off', 'ada');
    await rig.quiet();
  });

  it('a forwarded message runs no command and has no yolo', async () => {
    const forwarded = { forwarded: { from: 'Mallory' } };
    for (const text of ['/yolo', `/run ${dangerous()}`, '/status']) {
      rig.model.script = () => says(`Read ${text.split(' ')[0]}.`);
      await direct(text, 'ada', forwarded);
      await shows(`Read ${text.split(' ')[0]}.`);
      expect(rig.lastPrompt).toContain('<forwarded-');
      expect(rig.lastPrompt).toContain('Mallory');
    }
    expect(await rig.store.modes.list()).toEqual([]);
    await direct('/yolo', 'ada');
    agentRuns(dangerous(), 'Refused.');
    await direct('please clean up', 'ada', forwarded);
    const code = await codeIn(rig, chat);
    await direct(`/approve ${code}`, 'ada', forwarded);
    await rig.quiet();
    expect(runs()).toBe(0);
  });

  it('a promotion does not change a turn that is resumed after a restart', async () => {
    await direct(`/run ${dangerous()}`, 'bob');
    await codeIn(rig, chat);
    await rig.stopGateway();
    Object.assign(rig.rules, { admins: ['ada', 'bob'] });
    await rig.startGateway();
    await rig.press('Once', { from: 'bob', chat });
    await until('it ran', () => runs() === 1);
    await rig.quiet();
    await direct(`/run ${dangerous()}`, 'bob');
    await until('a command that is typed now runs unasked', () => runs() === 2);
    await rig.quiet();
    const records = await rig.store.audit.list({ kind: 'judgement' }, 100);
    const allowed = records.filter(({ outcome }) => outcome === 'allowed');
    expect(allowed.slice(-2).map(({ what }) => what.why)).toEqual(['answer once', 'typed by an admin']);
  });

  it('yolo ends with the admin role', async () => {
    await direct('/yolo', 'ada');
    await shows('Turned approvals off for you');
    const { parts } = (await rig.store.modes.list())[0] ?? { parts: [] };
    Object.assign(rig.rules, { admins: ['eve'], allowedUsers: ['ada', 'bob'] });
    agentRuns(dangerous(), 'Refused.');
    await direct('clean up', 'ada');
    await codeIn(rig, chat);
    await rig.press('Deny', { from: 'ada', chat });
    await shows('Refused.');
    expect(runs()).toBe(0);
    expect(await rig.store.modes.yolo(parts)).toHaveLength(1);
  });
});
