import { beforeEach, describe, expect, it } from 'vitest';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import { ada, bob, home } from '../../fakes/slack/world.ts';
import { until } from '../../until.ts';
import { channels } from './harness.ts';
import { listeningRig } from './listening-rig.ts';

const rig = listeningRig();

describe('what Slack delivers', () => {
  it('delivers a mention once that comes as two events', async () => {
    await rig.start();
    const { world } = rig.harness.slack;
    const message = world.makes({ channel: channels.general, source: `<@${home.bot}> once` });
    world.deliver(message, 'message');
    world.deliver(message, 'app_mention');
    rig.says('after it');
    await rig.hears('once');
    await until('all is confirmed', () => rig.harness.unconfirmed() === 0);
    expect(rig.accepted.texts.filter((text) => text === 'once')).toHaveLength(1);
    expect(rig.accepted.messages.find(({ text }) => text === 'once')?.place.thread).toBe(message.ts);
  });

  it('a follow-up in the thread of a mention needs no mention, and is in the same conversation', async () => {
    await rig.start();
    const root = rig.harness.slack.world.says({ channel: channels.general, source: `<@${home.bot}> begin` });
    rig.harness.slack.world.says({ channel: channels.general, text: 'go on', thread: root.ts, from: bob });
    const [first, second] = [await rig.hears('begin'), await rig.hears('go on')];
    expect(second.place).toEqual(first.place);
    expect(second).toMatchObject({ isAddressed: true, quoted: undefined, from: { id: `${home.team}/${bob}` } });
  });

  it('names people, also in the text', async () => {
    await rig.start();
    rig.harness.slack.world.says({ channel: channels.general, source: `<@${bob}> look at <@UNOBODY1>` });
    expect(await rig.hears('@Bob look at @UNOBODY1')).toMatchObject({ from: { name: 'Ada' } });
  });

  it('delivers a message although names cannot be had', async () => {
    rig.harness.slack.fail('users.info', { error: 'missing_scope', needed: 'users:read' }, 3);
    await rig.channel.start(rig.accepted.accept);
    rig.says('hello');
    expect(await rig.hears('hello')).toMatchObject({ from: { id: `${home.team}/${ada}`, name: ada } });
  });

  it('finds out what a thread is about although Slack is busy at first', async () => {
    await rig.start();
    const ours = await rig.channel.send(rig.harness.group, { text: 'our words' });
    const again = rig.make();
    await rig.channel.stop();
    rig.channel = again;
    await rig.channel.start(rig.accepted.accept);
    rig.harness.slack.fail('conversations.replies', { status: 429, retryAfter: 0 });
    rig.harness.slack.world.says({ channel: channels.general, text: 'and then', thread: ours });
    expect(await rig.hears('and then')).toMatchObject({ isAddressed: true, quoted: { text: 'our words' } });
  });

  it('runs /hermetic as a command, shows it to the others, and says when it is not there', async () => {
    rig.channel = rig.make({ commands: [{ name: 'run', help: 'x' }] });
    await rig.channel.start(rig.accepted.accept);
    const { world, sockets } = rig.harness.slack;
    const command = world.commands(channels.general, 'run ls') ?? '';
    expect(await rig.hears('/run ls')).toMatchObject({ isAddressed: true, place: rig.harness.group, from: { id: `${home.team}/${ada}` } });
    await until('it is answered', () => sockets.answers.has(command));
    expect(sockets.answers.get(command)).toEqual({ response_type: 'in_channel' });
    world.channel('CELSEWHERE1');
    rig.harness.slack.fail('conversations.history', { error: 'not_in_channel' });
    const other = world.commands('CELSEWHERE1', 'run ls') ?? '';
    await until('it is answered', () => sockets.answers.has(other));
    expect(sockets.answers.get(other)).toMatchObject({
      response_type: 'ephemeral',
      text: expect.stringContaining('not in this conversation'),
    });
    expect(rig.accepted.texts).toEqual(['/run ls']);
  });

  it('answers a press in time although it is not stored yet', async () => {
    await rig.start();
    const id = await rig.channel.send(rig.harness.direct, { text: 'May I?', buttons: [[{ label: 'Yes', data: 'y' }]] });
    rig.accepted.hold = () => new Promise(() => undefined);
    rig.harness.userPresses(rig.harness.direct, id, 'y');
    await rig.isAllAnswered();
  });

  it.each(['tokens_revoked', 'app_home_opened', 'reaction_added', 7, null])('confirms and ignores the event %s', async (type) => {
    await rig.start();
    rig.harness.slack.sockets.deliver('events_api', { team_id: home.team, event: { type } });
    rig.harness.slack.sockets.deliver('interactive', { type: 'view_submission', team: { id: home.team } });
    rig.harness.slack.sockets.deliver('something_new', {});
    await rig.isAllAnswered();
    expect(rig.accepted.all).toEqual([]);
  });

  it('reports itself as down while it cannot store messages', async () => {
    await rig.start();
    let isBroken = true;
    rig.accepted.hold = async () => {
      if (isBroken) throw new HermeticError('store/failed', 'no space left');
    };
    rig.says('keep');
    expect(await rig.downReason()).toContain('no space left');
    expect(rig.harness.unconfirmed()).toBe(1);
    isBroken = false;
    await rig.hears('keep');
    await rig.isUp();
  });
});

describe('what cannot be read', () => {
  const aside: Parameters<Deliveries['setAside']>[0][] = [];
  const deliveries: Deliveries = {
    trying: async (ids) => new Map(ids.map((id) => [id, 0])),
    setAside: async (delivery) => void aside.push(delivery),
  };
  beforeEach(() => {
    aside.length = 0;
    rig.channel = rig.make({ deliveries });
  });

  it.each<[string, object]>([
    ['without a user', { user: undefined }],
    ['with a user that is none', { user: '../admin' }],
    ['with a text that is none', { text: { not: 'text' } }],
    ['with a time that is none', { ts: 'yesterday' }],
    ['with a thread that is none', { thread_ts: 5 }],
    ['with a file that is none', { files: [{ id: '../F1' }] }],
    ['without a channel', { channel: undefined }],
  ])('sets a message aside %s, confirms it, and accepts the next one', async (_, more) => {
    await rig.channel.start(rig.accepted.accept);
    const event = { type: 'message', channel: channels.ada, user: ada, text: 'x', ts: rig.harness.slack.world.nextTs(), ...more };
    const authorizations = [{ team_id: home.team }];
    rig.harness.slack.sockets.deliver('events_api', { team_id: home.team, authorizations, event });
    rig.says('after it');
    await rig.hears('after it');
    await rig.isAllAnswered();
    expect(aside).toMatchObject([{ reason: expect.stringMatching(/^It cannot be read: /) }]);
    expect(rig.accepted.texts).toEqual(['after it']);
  });

  it('keeps what could be used to answer in our name out of what is set aside', async () => {
    await rig.channel.start(rig.accepted.accept);
    rig.harness.slack.sockets.deliver('interactive', {
      ...{
        type: 'block_actions',
        token: 'verification-secret',
        response_url: 'https://hooks.slack.com/secret',
        trigger_id: 'trigger-secret',
      },
      team: { id: home.team },
      user: { id: 'nobody' },
      actions: [{ type: 'button' }],
    });
    await until('it is set aside', () => aside.length === 1);
    expect(JSON.stringify(aside)).not.toContain('secret');
  });
});
