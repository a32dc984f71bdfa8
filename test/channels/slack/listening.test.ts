import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SlackClient } from '../../../src/channels/slack/client.ts';
import { Wire } from '../../../src/channels/slack/wire.ts';
import type { Channel } from '../../../src/core/channel.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { ada, bob, home } from '../../fakes/slack/world.ts';
import { until } from '../../until.ts';
import { channels, placeOf, type SlackHarness, slackChannel, slackHarness } from './harness.ts';

let harness: SlackHarness;
let channel: Channel;
let accepted: Accepted;
const unhandled: unknown[] = [];
const noteUnhandled = (error: unknown): void => void unhandled.push(error);

beforeEach(async () => {
  harness = await slackHarness();
  channel = harness.create();
  accepted = new Accepted();
  unhandled.length = 0;
  process.on('unhandledRejection', noteUnhandled);
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
  process.off('unhandledRejection', noteUnhandled);
  expect(unhandled).toEqual([]);
});

const make = (more: Parameters<typeof slackChannel>[3] = {}): Channel =>
  slackChannel(harness.slack, harness.notes, (sentence) => harness.log.push(sentence), more);
const says = (text: string): string => harness.userSays(harness.direct, { text });
const isUp = () => until('it is up', () => channel.state.kind === 'up');
const hears = (text: string) => accepted.message((message) => message.text === text);

async function downReason(): Promise<string> {
  return await until('it is down', () => (channel.state.kind === 'down' ? channel.state.reason : undefined));
}

/** What was said before it began is read at the beginning. */
async function startListening(): Promise<void> {
  await channel.start(accepted.accept);
  says('first');
  await hears('first');
  await until('it is confirmed', () => harness.unconfirmed() === 0);
  accepted.all.length = 0;
}

describe('the connection to Slack', () => {
  it.each(['warning', 'refresh_requested'])('opens the next connection before it leaves the last one (%s)', async (reason) => {
    await startListening();
    const { sockets } = harness.slack;
    sockets.disconnect(reason);
    await until('the next one is there and the last one gone', () => sockets.opened === 2 && sockets.connected === 1);
    expect(sockets.most).toBe(2);
    says('again');
    await hears('again');
    expect(accepted.texts).toEqual(['again']);
    expect(channel.state.kind).toBe('up');
    // Nothing was missed, so nothing is read.
    expect(harness.slack.callsOf('conversations.history').length).toBeLessThanOrEqual(Object.keys(channels).length);
  });

  it('acknowledges on the old connection what arrived there before the new one took over', async () => {
    await startListening();
    const { promise, resolve } = Promise.withResolvers<void>();
    accepted.hold = () => promise;
    says('slow');
    await until('it is delivered', () => harness.slack.sockets.delivered.length > 1);
    harness.slack.sockets.disconnect('warning');
    await until('the next one is there', () => harness.slack.sockets.opened === 2);
    resolve();
    await until('it is acknowledged', () => harness.slack.sockets.delivered.every(({ id }) => harness.slack.sockets.answers.has(id)));
    await until('the old one is gone', () => harness.slack.sockets.connected === 1);
  });

  it('reads what was said while there was no connection, in order and once', async () => {
    await startListening();
    harness.slack.sockets.terminateAll();
    await until('it is cut', () => harness.slack.sockets.connected === 0);
    for (const text of ['one', 'two']) harness.slack.world.makes({ channel: channels.ada, text });
    await hears('two');
    says('three');
    await hears('three');
    expect(accepted.texts).toEqual(['one', 'two', 'three']);
  });

  it('reads what was said in known threads, and in threads that were begun meanwhile', async () => {
    await startListening();
    const begun = harness.slack.world.says({ channel: channels.general, source: `<@${home.bot}> begin` });
    await hears('begin');
    await until('the thread is known', () => [...harness.notes.all.keys()].some((key) => key.endsWith(begun.ts)));
    await channel.stop();
    const { world } = harness.slack;
    world.makes({ channel: channels.general, text: 'go on', thread: begun.ts });
    const other = world.makes({ channel: channels.general, source: `<@${home.bot}> another` });
    world.makes({ channel: channels.general, text: 'and this', thread: other.ts });
    const second = new Accepted();
    channel = make();
    await channel.start(second.accept);
    await until('all are there', () => second.all.length === 3);
    expect(second.messages.map(({ text, place, isAddressed }) => [text, place.thread, isAddressed])).toEqual([
      ['go on', begun.ts, true],
      ['another', other.ts, true],
      ['and this', other.ts, true],
    ]);
  });

  it('reads more missed messages than Slack gives at once', async () => {
    const words = Array.from({ length: 450 }, (_, number) => `word ${number}`);
    for (const text of words) harness.slack.world.makes({ channel: channels.ada, text });
    harness.slack.fail('conversations.history', { status: 429, retryAfter: 0 });
    harness.slack.fail('conversations.history', { status: 502 });
    await channel.start(accepted.accept);
    await until('all are accepted', () => accepted.all.length === words.length);
    expect(accepted.texts).toEqual(words);
  });

  it('forgets a conversation that it is no longer in', async () => {
    await harness.notes.write({ [`chat:${home.team}/CGONE`]: String(Date.now()) });
    await channel.start(accepted.accept);
    await until('it is forgotten', () => !harness.notes.all.has(`chat:${home.team}/CGONE`));
    says('still here');
    await hears('still here');
  });

  it('listens although what was missed cannot be read', async () => {
    for (let count = 0; count < 3; count += 1)
      harness.slack.fail('conversations.history', { error: 'missing_scope', needed: 'im:history' });
    await channel.start(accepted.accept);
    says('hello');
    await hears('hello');
    expect(harness.log.join('\n')).toContain('missing_scope, it needs im:history');
  });

  it('replaces a connection through which nothing comes any more', async () => {
    const app = new SlackClient({ token: harness.slack.appToken, apiRoot: harness.slack.root });
    const { url } = await app.call<{ url: string }>('apps.connections.open');
    const stop = new AbortController();
    const hello = Promise.withResolvers<void>();
    const wire = new Wire({ address: url, signal: stop.signal, onHello: hello.resolve, onEnvelope: () => undefined, pulseMs: 40 });
    await hello.promise;
    harness.slack.sockets.freeze();
    expect(await wire.outcome).toBe('ended');
    stop.abort();
  });

  it('logs nothing when a connection ends once', async () => {
    await startListening();
    harness.slack.sockets.terminateAll();
    await until('it is back', () => harness.slack.sockets.opened === 2);
    await isUp();
    expect(harness.log).toEqual([]);
  });

  it('says that Socket Mode is switched off', async () => {
    await startListening();
    harness.slack.sockets.disconnect('link_disabled');
    expect(await downReason()).toContain('Socket Mode is switched off');
  });

  it.each(['not JSON', '[]', 'null', '7', '{}', '{"type":"disconnect"}', '{"envelope_id":"e","type":"events_api","payload":null}'])(
    'survives %s from Slack',
    async (text) => {
      await startListening();
      harness.slack.sockets.sendRaw(text);
      await until('there is a connection', () => harness.slack.sockets.connected > 0);
      await isUp();
      // It may be said while there is none; then it is read.
      says('after it');
      await hears('after it');
    },
  );

  it('survives bytes that are no text', async () => {
    await startListening();
    harness.slack.sockets.sendRaw(new Uint8Array([0, 255, 1]));
    says('after it');
    await hears('after it');
  });

  it('connects nowhere else than where it may', async () => {
    harness.slack.fail('apps.connections.open', { body: '{"ok":true,"url":"ws://127.0.0.1:9/link"}' }, 2);
    await channel.start(accepted.accept);
    expect(harness.log.join('\n')).toContain('an address that is not one of Slack');
    await isUp();
    const client = new SlackClient({ token: 'x', apiRoot: undefined });
    const addresses = [
      'wss://wss-primary.slack.com/link/?ticket=1',
      'ws://wss-primary.slack.com/',
      'wss://evil.example/',
      'wss://slack.com.evil.example/',
      'x',
    ];
    expect(addresses.map((address) => client.isSocketAddress(address))).toEqual([true, false, false, false, false]);
  });
});

describe('tokens of Slack', () => {
  it('a bot token that is revoked while it listens is reported, and ends nothing', async () => {
    await startListening();
    const workspace = harness.slack.world.workspaces[0] as { isRevoked?: boolean };
    workspace.isRevoked = true;
    try {
      await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy', hint: expect.any(String) });
      expect(await downReason()).toBe('Slack refuses the bot token (token_revoked).');
      harness.slack.sockets.terminateAll();
      await until('it connects anew', () => harness.slack.sockets.opened > 1);
    } finally {
      workspace.isRevoked = false;
    }
    await channel.send(harness.direct, { text: 'works again' });
    await isUp();
  });

  it('an app token that is revoked while it reconnects is reported, and ends nothing', async () => {
    await startListening();
    harness.slack.isAppRevoked = true;
    harness.slack.sockets.terminateAll();
    expect(await downReason()).toBe('Slack refuses the app token (token_revoked).');
    await channel.send(harness.direct, { text: 'sending still works' });
    await channel.stop();
    expect(channel.state.kind).toBe('stopped');
  });

  it('refuses to start with a wrong app token, and says which one it is', async () => {
    const wrong = make({ appToken: 'xapp-wrong-secret' });
    await expect(wrong.start(accepted.accept)).rejects.toMatchObject({
      code: 'channel/unusable',
      message: 'Slack refuses the app token (invalid_auth).',
      hint: expect.stringContaining('connections:write'),
    });
    expect(harness.slack.sockets.opened).toBe(0);
  });

  it.each(['', ' ', 'not a token', 'xoxb-1,', 'xoxb-1\r\nx: y', 'xoxb-1 xoxb-2'])('does not try a malformed token: %j', async (tokens) => {
    for (const wrong of [make({ tokens }), make({ appToken: tokens })]) {
      await expect(wrong.start(accepted.accept)).rejects.toMatchObject({ code: 'channel/unusable' });
      await expect(wrong.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/unusable' });
      expect(wrong.state.kind).toBe('down');
    }
    expect(harness.slack.calls).toEqual([]);
  });

  it('warns of ids that let nobody in', async () => {
    channel = make({ options: { allowed_users: [ada, `${home.team}/${bob}`], admins: ['@ada'] } });
    await channel.start(accepted.accept);
    expect(harness.log.join('\n')).toContain(JSON.stringify([ada, '@ada']));
    expect(harness.log.join('\n')).not.toContain(bob);
  });
});

describe('several workspaces', () => {
  const away = { team: 'TAWAY1', name: 'Away', token: 'xoxb-2-secret-of-another', bot: 'UBOT2', botId: 'BBOT2' };
  const theirs = 'DTHEIRS1';
  beforeEach(() => {
    harness.slack.world.workspaces.push({ ...away });
    harness.slack.world.channel(theirs, away.team);
    channel = make({ tokens: `${home.token}, ${away.token}` });
  });

  it('hears both over one connection, tells their people apart, and answers with the right token', async () => {
    await channel.start(accepted.accept);
    says('from home');
    harness.slack.world.says({ channel: theirs, text: 'from away' });
    const here = await hears('from home');
    const there = await hears('from away');
    expect([here.from.id, there.from.id]).toEqual([`${home.team}/${ada}`, `${away.team}/${ada}`]);
    expect(there.place).toEqual(placeOf(theirs, undefined, away.team));
    await channel.send(there.place, { text: 'to away' });
    expect(harness.slack.calls.findLast(({ method }) => method === 'chat.postMessage')?.token).toBe(away.token);
    expect(harness.shown(there.place)).toMatchObject([{ text: 'to away' }]);
    expect(harness.slack.sockets.opened).toBe(1);
  });

  it('fetches a file with the token of its workspace', async () => {
    await channel.start(accepted.accept);
    harness.slack.world.says({ channel: theirs, text: 'look', files: [{ name: 'a', data: Buffer.from('theirs') }] });
    const [file] = (await hears('look')).files;
    expect(file && String(await channel.fetchFile(file, 100))).toBe('theirs');
  });

  it('goes on in one workspace when the token of the other is refused, and says which', async () => {
    Object.assign(harness.slack.world.workspaces[1] as object, { isRevoked: true });
    await channel.start(accepted.accept);
    expect(await downReason()).toBe('Slack refuses the bot token 2 of 2 (token_revoked).');
    says('still here');
    await hears('still here');
    await expect(channel.send(placeOf(theirs, undefined, away.team), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('ignores and confirms what comes from a workspace without a token', async () => {
    channel = make();
    await channel.start(accepted.accept);
    harness.slack.world.says({ channel: theirs, text: 'from nowhere' });
    harness.slack.world.presses(theirs, harness.slack.world.nextTs(), 'q');
    harness.slack.world.commands(theirs, 'run ls');
    says('from here');
    await hears('from here');
    await until('all are confirmed', () => harness.slack.sockets.delivered.every(({ id }) => harness.slack.sockets.answers.has(id)));
    expect(accepted.all).toHaveLength(1);
    await expect(channel.send(placeOf(theirs, undefined, away.team), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
  });
});

describe('what Slack delivers', () => {
  it('delivers a mention once that comes as two events', async () => {
    await startListening();
    const { world } = harness.slack;
    const message = world.makes({ channel: channels.general, source: `<@${home.bot}> once` });
    world.deliver(message, 'message');
    world.deliver(message, 'app_mention');
    says('after it');
    await hears('once');
    await until('all is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.texts.filter((text) => text === 'once')).toHaveLength(1);
    expect(accepted.messages.find(({ text }) => text === 'once')?.place.thread).toBe(message.ts);
  });

  it('a follow-up in the thread of a mention needs no mention, and is in the same conversation', async () => {
    await startListening();
    const root = harness.slack.world.says({ channel: channels.general, source: `<@${home.bot}> begin` });
    harness.slack.world.says({ channel: channels.general, text: 'go on', thread: root.ts, from: bob });
    const [first, second] = [await hears('begin'), await hears('go on')];
    expect(second.place).toEqual(first.place);
    expect(second).toMatchObject({ isAddressed: true, quoted: undefined, from: { id: `${home.team}/${bob}` } });
  });

  it('names people, also in the text', async () => {
    await startListening();
    harness.slack.world.says({ channel: channels.general, source: `<@${bob}> look at <@UNOBODY1>` });
    expect(await hears('@Bob look at @UNOBODY1')).toMatchObject({ from: { name: 'Ada' } });
  });

  it('delivers a message although names cannot be had', async () => {
    harness.slack.fail('users.info', { error: 'missing_scope', needed: 'users:read' }, 3);
    await channel.start(accepted.accept);
    says('hello');
    expect(await hears('hello')).toMatchObject({ from: { id: `${home.team}/${ada}`, name: ada } });
  });

  it('finds out what a thread is about although Slack is busy at first', async () => {
    await startListening();
    const ours = await channel.send(harness.group, { text: 'our words' });
    const again = make();
    await channel.stop();
    channel = again;
    await channel.start(accepted.accept);
    harness.slack.fail('conversations.replies', { status: 429, retryAfter: 0 });
    harness.slack.world.says({ channel: channels.general, text: 'and then', thread: ours });
    expect(await hears('and then')).toMatchObject({ isAddressed: true, quoted: { text: 'our words' } });
  });

  it('runs /hermetic as a command, shows it to the others, and says when it is not there', async () => {
    channel = make({ commands: [{ name: 'run', help: 'x' }] });
    await channel.start(accepted.accept);
    const { world, sockets } = harness.slack;
    const command = world.commands(channels.general, 'run ls') ?? '';
    expect(await hears('/run ls')).toMatchObject({ isAddressed: true, place: harness.group, from: { id: `${home.team}/${ada}` } });
    await until('it is answered', () => sockets.answers.has(command));
    expect(sockets.answers.get(command)).toEqual({ response_type: 'in_channel' });
    world.channel('CELSEWHERE1');
    harness.slack.fail('conversations.history', { error: 'not_in_channel' });
    const other = world.commands('CELSEWHERE1', 'run ls') ?? '';
    await until('it is answered', () => sockets.answers.has(other));
    expect(sockets.answers.get(other)).toMatchObject({
      response_type: 'ephemeral',
      text: expect.stringContaining('not in this conversation'),
    });
    expect(accepted.texts).toEqual(['/run ls']);
  });

  it('answers a press in time although it is not stored yet', async () => {
    await startListening();
    const id = await channel.send(harness.direct, { text: 'May I?', buttons: [[{ label: 'Yes', data: 'y' }]] });
    accepted.hold = () => new Promise(() => undefined);
    harness.userPresses(harness.direct, id, 'y');
    await until('it is answered', () => harness.slack.sockets.delivered.every(({ id: one }) => harness.slack.sockets.answers.has(one)));
  });

  it.each(['tokens_revoked', 'app_home_opened', 'reaction_added', 7, null])('confirms and ignores the event %s', async (type) => {
    await startListening();
    harness.slack.sockets.deliver('events_api', { team_id: home.team, event: { type } });
    harness.slack.sockets.deliver('interactive', { type: 'view_submission', team: { id: home.team } });
    harness.slack.sockets.deliver('something_new', {});
    await until('all are confirmed', () => harness.slack.sockets.delivered.every(({ id }) => harness.slack.sockets.answers.has(id)));
    expect(accepted.all).toEqual([]);
  });

  it('reports itself as down while it cannot store messages', async () => {
    await startListening();
    let isBroken = true;
    accepted.hold = async () => {
      if (isBroken) throw new HermeticError('store/failed', 'no space left');
    };
    says('keep');
    expect(await downReason()).toContain('no space left');
    expect(harness.unconfirmed()).toBe(1);
    isBroken = false;
    await hears('keep');
    await isUp();
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
    channel = make({ deliveries });
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
    await channel.start(accepted.accept);
    const event = { type: 'message', channel: channels.ada, user: ada, text: 'x', ts: harness.slack.world.nextTs(), ...more };
    const authorizations = [{ team_id: home.team }];
    harness.slack.sockets.deliver('events_api', { team_id: home.team, authorizations, event });
    says('after it');
    await hears('after it');
    await until('all are confirmed', () => harness.slack.sockets.delivered.every(({ id }) => harness.slack.sockets.answers.has(id)));
    expect(aside).toMatchObject([{ reason: expect.stringMatching(/^It cannot be read: /) }]);
    expect(accepted.texts).toEqual(['after it']);
  });

  it('keeps what could be used to answer in our name out of what is set aside', async () => {
    await channel.start(accepted.accept);
    harness.slack.sockets.deliver('interactive', {
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
