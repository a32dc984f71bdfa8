import { setTimeout as delay } from 'node:timers/promises';
import { ApplicationCommandOptionType } from 'discord-api-types/v10';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { discord } from '../../../src/channels/discord/index.ts';
import type { Channel } from '../../../src/core/channel.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { ada, bot, guild } from '../../fakes/discord/world.ts';
import { until } from '../../until.ts';
import { type DiscordHarness, discordChannel, discordHarness } from './harness.ts';

let harness: DiscordHarness;
let channel: Channel;
let accepted: Accepted;
const operations = { identify: 2, resume: 6 };

beforeEach(async () => {
  harness = await discordHarness();
  channel = harness.create();
  accepted = new Accepted();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const received = (op: number): number => harness.discord.gateway.received.filter((one) => one.op === op).length;
const says = (text: string): string => harness.userSays(harness.direct, { text });
const isUp = () => until('it is up', () => channel.state.kind === 'up');

/** Resolves when it has read what was said before, too. */
async function listens(): Promise<void> {
  await channel.start(accepted.accept);
  says('before');
  await until('that is over', () => accepted.texts.includes('before') && harness.unconfirmed() === 0);
  accepted.all.length = 0;
}

async function downReason(): Promise<string> {
  return await until('it is down', () => (channel.state.kind === 'down' ? channel.state.reason : undefined));
}

describe('the connection to Discord', () => {
  it('resumes a session that was cut, and hears what was said meanwhile from it', async () => {
    await listens();
    harness.discord.gateway.terminateAll();
    says('while it was away');
    await accepted.message(({ text }) => text === 'while it was away');
    await until('it was resumed', () => received(operations.resume) === 1);
    expect(received(operations.identify)).toBe(1);
  });

  it.each([4000, 4200, 1012])('resumes after Discord closed the connection with %i', async (code) => {
    await listens();
    harness.discord.gateway.closeAll(code);
    await until('it resumes', () => received(operations.resume) === 1);
    says('again');
    await accepted.message(({ text }) => text === 'again');
  });

  it('resumes when Discord asks for a new connection', async () => {
    await listens();
    harness.discord.gateway.askToReconnect();
    await until('it resumes', () => received(operations.resume) === 1);
    says('again');
    await accepted.message(({ text }) => text === 'again');
  });

  it.each([1000, 4007, 4009])('begins a new session after %i, and reads what was missed', async (code) => {
    await listens();
    harness.discord.gateway.closeAll(code);
    says('missed');
    await accepted.message(({ text }) => text === 'missed');
    expect(received(operations.identify)).toBe(2);
  });

  it('begins a new session when Discord has forgotten the old one, and reads what was missed once', async () => {
    await listens();
    harness.discord.gateway.terminateAll();
    harness.discord.gateway.forgetSessions();
    says('one');
    says('two');
    await accepted.message(({ text }) => text === 'two');
    says('three');
    await accepted.message(({ text }) => text === 'three');
    expect(accepted.texts).toEqual(['one', 'two', 'three']);
  });

  it('replaces a connection that does not answer its heartbeats', async () => {
    harness.discord.gateway.heartbeatMs = 40;
    await channel.start(accepted.accept);
    harness.discord.gateway.isDeaf = true;
    await until('it connects anew', () => received(operations.resume) + received(operations.identify) > 1);
    harness.discord.gateway.isDeaf = false;
    says('again');
    await accepted.message(({ text }) => text === 'again');
  });

  it.each([
    [4004, /refuses the token \(4004\)/],
    [4014, /may not read messages \(4014\): switch on "Message Content Intent"/],
  ])('says why Discord closed the connection with %i, and does not crash', async (code, reason) => {
    await channel.start(accepted.accept);
    harness.discord.gateway.closeAll(code);
    expect(await downReason()).toMatch(reason);
    expect(harness.log.some((sentence) => reason.test(sentence))).toBe(true);
    expect(harness.log.join('\n')).not.toContain(harness.secret);
  });

  it('a token that was revoked while the bot was away is reported', async () => {
    await channel.start(accepted.accept);
    harness.discord.token = 'another.token.now';
    harness.discord.gateway.token = 'another.token.now';
    harness.discord.gateway.terminateAll();
    expect(await downReason()).toContain('refuses the token');
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy' });
    harness.discord.token = harness.secret;
    harness.discord.gateway.token = harness.secret;
    await channel.send(harness.direct, { text: 'works again' });
  });

  it.each(['not JSON', '[]', 'null', '7', '{"op":10}', '{"op":10,"d":{"heartbeat_interval":"x"}}', '{"op":0,"t":"MESSAGE_CREATE"}'])(
    'survives %s from the gateway',
    async (text) => {
      await channel.start(accepted.accept);
      harness.discord.gateway.sendRaw(text);
      says('still there');
      await accepted.message(({ text: said }) => said === 'still there');
    },
  );

  it.each(['MESSAGE_CREATE', 'INTERACTION_CREATE', 'GUILD_CREATE', 'THREAD_CREATE', 'THREAD_LIST_SYNC', 'THREAD_DELETE'])(
    'an event that cannot be read ends nothing: %s',
    async (event) => {
      await channel.start(accepted.accept);
      for (const data of [null, 7, 'x', [], {}, { id: {}, channel_id: [], threads: 3, channels: 'x', roles: [null] }]) {
        harness.discord.gateway.dispatch(event, data);
        harness.userSays(harness.direct, { text: `after ${JSON.stringify(data)}` });
        await accepted.message(({ text }) => text === `after ${JSON.stringify(data)}`);
      }
      await isUp();
    },
  );

  it.each([null, {}, { user: bot, guilds: [null, 'x', { id: 7 }] }])('survives a session that begins with %j', async (data) => {
    await channel.start(accepted.accept);
    harness.discord.gateway.dispatch('READY', data);
    says('after it');
    await accepted.message(({ text }) => text === 'after it');
    await isUp();
  });

  it.each([
    ['without data', { type: 2 }],
    ['with options that are none', { type: 2, data: { name: 'run', type: 1, options: { not: 'a list' } } }],
  ])('a command %s does not end the program', async (_, what) => {
    await channel.start(accepted.accept);
    const failures: unknown[] = [];
    const listener = (reason: unknown): void => void failures.push(reason);
    process.on('unhandledRejection', listener);
    const whole = { id: '88', application_id: bot.id, token: 'secret', channel: { id: harness.direct.chat }, user: ada, ...what };
    harness.discord.gateway.dispatch('INTERACTION_CREATE', whole);
    says('after it');
    await accepted.message(({ text }) => text === 'after it');
    await until('it is answered', () => harness.discord.calls.some(({ path }) => path.includes('/callback')));
    process.off('unhandledRejection', listener);
    expect(failures).toEqual([]);
  });

  it.each(['not an address', 'ftp://127.0.0.1'])('survives %s as the place to resume a session', async (address) => {
    harness.discord.gateway.resumeAddress = address;
    await listens();
    harness.discord.gateway.terminateAll();
    says('again');
    await accepted.message(({ text }) => text === 'again');
  });

  it.each([1001, 4000])('does not connect again and again without a pause to a gateway that ends every session with %i', async (code) => {
    harness.discord.gateway.closesReadyWith = code;
    await channel.start(accepted.accept);
    await delay(1000);
    expect(received(operations.identify) + received(operations.resume)).toBeLessThan(6);
    harness.discord.gateway.closesReadyWith = undefined;
    says('again');
    await accepted.message(({ text }) => text === 'again');
  });

  it('reads what was missed on a server that Discord describes after something was said elsewhere', async () => {
    await listens();
    await channel.stop();
    harness.discord.world.textChannel('6900', '9900');
    harness.discord.world.says({ channel: '6900', content: 'missed', mentions: [bot] });
    harness.discord.gateway.lateGuilds.push('9900');
    await channel.start(accepted.accept);
    says('elsewhere');
    await accepted.message(({ text }) => text === 'elsewhere');
    harness.discord.gateway.describe('9900');
    await accepted.message(({ text }) => text === 'missed');
    await until('all of it is marked as read', () => harness.unconfirmed() === 0);
  });

  it('hears a channel whose earlier messages Discord does not give for a reason of its own', async () => {
    await channel.stop();
    const failing = new Set<string>();
    harness.discord.refuses = (method, path) => {
      const isHistory = method === 'GET' && path.endsWith(`/${harness.direct.chat}/messages`);
      if (isHistory) failing.add(path);
      return isHistory ? 400 : undefined;
    };
    await channel.start(accepted.accept);
    await until('it was asked', () => failing.size > 0);
    says('now');
    await accepted.message(({ text }) => text === 'now');
  });

  it('counts the tries of what was missed in one channel also while it reads another', async () => {
    await listens();
    await channel.stop();
    for (const place of [harness.direct, harness.otherDirect]) harness.userSays(place, { text: 'missed' });
    const counted: { ids: readonly string[]; open: readonly string[] | 'all' }[] = [];
    const deliveries: Deliveries = {
      trying: async (ids, open) => {
        counted.push({ ids, open });
        return new Map(ids.map((id) => [id, 0]));
      },
      setAside: async () => undefined,
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    accepted.hold = () => promise;
    channel = discordChannel(harness.discord, harness.notes, () => undefined, { deliveries });
    await channel.start(accepted.accept);
    await until('both are tried', () => counted.filter(({ ids }) => ids.length > 0).length === 2);
    expect(counted.map(({ open }) => open)).toEqual(['all', 'all']);
    resolve();
    await until('they are forgotten when all was read', () => counted.at(-1)?.open.length === 0);
  });

  it('tells the person who pressed a button how that ended when the press is confirmed, not before', async () => {
    await channel.start(accepted.accept);
    const sent = await channel.send(harness.direct, { text: 'q', buttons: [[{ label: 'Once', data: 'q:1' }]] });
    accepted.hold = async (incoming) => {
      if (incoming.kind === 'press') void channel.noticed?.(incoming, 'Answer recorded.');
    };
    harness.userPresses(harness.direct, sent, 'q:1');
    await until('they are told', () => harness.discord.world.notices.includes('Answer recorded.'), { withinMs: 5000 });
  });

  it('tells the person who pressed a button why the press does not count yet, in the time that Discord waits', async () => {
    await channel.start(accepted.accept);
    const sent = await channel.send(harness.direct, { text: 'q', buttons: [[{ label: 'Once', data: 'q:1' }]] });
    const { world } = harness.discord;
    const told = () => [...world.interactionAnswers.map(({ content }) => content), ...world.notices].filter((text) => text !== undefined);
    let tries = 0;
    accepted.hold = async (incoming) => {
      if (incoming.kind !== 'press' || told().length > 0) return;
      tries += 1;
      if (tries === 1) void channel.noticed?.(incoming, 'Not stored yet.');
      throw new HermeticError('store/failed', 'no space is left');
    };
    harness.userPresses(harness.direct, sent, 'q:1');
    const press = await until('it is accepted', () => accepted.all.find(({ kind }) => kind === 'press'));
    if (press.kind === 'press') await channel.noticed?.(press, 'Answer recorded.');
    await until('they are told both', () => world.notices.includes('Answer recorded.'));
    expect(told()).toEqual(['Not stored yet.', 'Answer recorded.']);
  });

  it('asks once for each author of what was missed for their roles', async () => {
    await listens();
    await channel.stop();
    harness.discord.world.members.set(ada.id, ['801']);
    for (let index = 0; index < 150; index += 1) harness.userSays(harness.group, { text: `missed ${index}` });
    await channel.start(accepted.accept);
    await accepted.message(({ text }) => text === 'missed 149');
    expect(accepted.messages.map(({ text }) => text)).toEqual(Array.from({ length: 150 }, (_, index) => `missed ${index}`));
    expect(harness.discord.calls.filter(({ path }) => path.includes('/members/')).length).toBe(1);
  });

  it('sets aside a message that cannot be read, and goes on', async () => {
    const aside: unknown[] = [];
    const deliveries: Deliveries = {
      trying: async (ids) => new Map(ids.map((id) => [id, 0])),
      setAside: async (entry) => void aside.push(entry),
    };
    await channel.stop();
    channel = discordChannel(harness.discord, harness.notes, () => undefined, { deliveries });
    await channel.start(accepted.accept);
    harness.discord.world.says({ channel: harness.direct.chat, content: 'poison', more: { content: { not: 'a text' } } });
    says('after it');
    await accepted.message(({ text }) => text === 'after it');
    expect(aside).toMatchObject([{ reason: expect.stringContaining('content is not a text') }]);
    await until('it is not read again', () => harness.unconfirmed() === 0);
  });

  it('asks Discord no more often than it allows when sessions are used up', async () => {
    harness.discord.world.sessionsLeft = 0;
    await channel.start(accepted.accept);
    expect(await downReason()).toContain('too many sessions');
    expect(received(operations.identify)).toBe(0);
  });
});

describe('roles on Discord', () => {
  it('are known of a message as it is said, of a press, of a command, and of what was missed', async () => {
    const { world } = harness.discord;
    world.members.set(ada.id, ['801']);
    await channel.start(accepted.accept);
    harness.userSays(harness.group, { text: 'live', mentionsUs: true });
    expect((await accepted.message(({ text }) => text === 'live')).from.roles).toEqual(['801']);
    const sent = await channel.send(harness.group, { text: 'q', buttons: [[{ label: 'Once', data: 'q:1' }]] });
    harness.userPresses(harness.group, sent, 'q:1');
    const press = await until('it is pressed', () => accepted.all.find(({ kind }) => kind === 'press'));
    expect(press.from.roles).toEqual(['801']);
    world.gives(harness.group.chat, 'run', 'ls');
    expect((await accepted.message(({ text }) => text === '/run ls')).from.roles).toEqual(['801']);
    await channel.stop();
    harness.userSays(harness.group, { text: 'missed', mentionsUs: true });
    await channel.start(accepted.accept);
    expect((await accepted.message(({ text }) => text === 'missed')).from.roles).toEqual(['801']);
  });
});

describe('commands in the menu of Discord', () => {
  const commands = [
    { name: 'run', usage: 'COMMAND', help: 'runs a command' },
    { name: 'stop', usage: '', help: 'stops the running turn' },
    { name: 'model', usage: '[NAME]', help: 'x'.repeat(200) },
    { name: 'Not Allowed', help: 'x' },
  ];
  const withCommands = () =>
    discord.create(
      { secret: () => harness.secret, log: () => undefined, notes: harness.notes, commands },
      discord.options.parse({ api_root: harness.discord.root }),
    );

  it('are shown with their arguments, and told to Discord once as long as they are the same', async () => {
    channel = withCommands();
    await channel.start(accepted.accept);
    await until('they are there', () => harness.discord.world.commands.length > 0);
    expect(harness.discord.world.commands).toMatchObject([
      { name: 'run', description: 'runs a command', options: [{ type: ApplicationCommandOptionType.String, required: true }] },
      { name: 'stop' },
      { name: 'model', options: [{ required: false }] },
    ]);
    const told = () => harness.discord.calls.filter(({ method }) => method === 'PUT').length;
    await until('it is noted', () => harness.notes.all.has('commands'));
    await channel.stop();
    channel = withCommands();
    await channel.start(accepted.accept);
    says('hello');
    await accepted.message();
    expect(told()).toBe(1);
  });

  it('given by a person are messages for the bot, and only that person sees that they arrived', async () => {
    await channel.start(accepted.accept);
    const id = harness.discord.world.gives(harness.group.chat, 'run', 'echo `hi` @everyone');
    const message = await accepted.message();
    expect(message).toMatchObject({ text: '/run echo `hi` @everyone', isAddressed: true, isDirect: false, from: { id: ada.id } });
    expect(message.place).toEqual({ platform: 'discord', workspace: guild, chat: harness.group.chat, thread: undefined });
    const answer = await until('it is answered', () => harness.discord.world.interactionAnswers.find((one) => one.id === id));
    expect(answer.content).toContain('/run echo');
    expect(Number(answer.flags) & 64).toBe(64);
  });

  it('are confirmed also when they are longer than a message', async () => {
    await channel.start(accepted.accept);
    const id = harness.discord.world.gives(harness.direct.chat, 'run', `echo ${'x'.repeat(5000)}`);
    await accepted.message();
    const answer = await until('it is answered', () => harness.discord.world.interactionAnswers.find((one) => one.id === id));
    expect(answer.content).toMatch(/\/run echo x+…/);
  });

  it('are not confirmed before they are accepted', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    accepted.hold = () => promise;
    await channel.start(accepted.accept);
    harness.discord.world.gives(harness.direct.chat, 'stop', undefined);
    says('behind it');
    expect(harness.discord.world.interactionAnswers).toEqual([]);
    resolve();
    await accepted.message(({ text }) => text === '/stop');
    await until('it is confirmed', () => harness.discord.world.interactionAnswers.length === 1);
  });
});

describe('threads of the bot on Discord', () => {
  const start = async (): Promise<void> => {
    channel = discord.create(
      { secret: () => harness.secret, log: () => undefined, notes: harness.notes },
      discord.options.parse({ api_root: harness.discord.root, auto_thread: true }),
    );
    await channel.start(accepted.accept);
  };

  it('begin with the message that is answered, and what is said in them is meant for the bot', async () => {
    await start();
    const id = harness.userSays(harness.group, { text: 'make me a plan\nwith details', mentionsUs: true });
    const { place } = await accepted.message();
    expect(place).toMatchObject({ chat: harness.group.chat, thread: id });
    await channel.typing?.(place);
    const sent = await channel.send(place, { text: 'first' });
    await channel.send(place, { text: 'second' });
    expect(harness.discord.world.channels.get(id)).toMatchObject({ name: 'make me a plan', owner_id: bot.id });
    expect(harness.discord.world.sent.map(({ message }) => message.channel_id)).toEqual([id, id]);
    await channel.edit?.(place, sent, { text: 'changed' });
    harness.discord.world.says({ channel: id, content: 'and then?' });
    const next = await accepted.message(({ text }) => text === 'and then?');
    expect(next).toMatchObject({ place, isAddressed: true });
  });

  it('are not made twice', async () => {
    await start();
    const id = harness.userSays(harness.group, { text: 'plan', mentionsUs: true });
    const { place } = await accepted.message();
    harness.discord.world.thread(id, harness.group.chat, ada.id);
    await channel.send(place, { text: 'here' });
    expect(harness.discord.world.sent.map(({ message }) => message.channel_id)).toEqual([id]);
  });

  it.each([
    ['the bot may not make them', { status: 403, code: 50_013 }],
    ['there can be none', { status: 400, code: 50_024 }],
    ['there are too many', { status: 400, code: 160_006 }],
  ])('are replaced by the channel where %s', async (_, refusal) => {
    harness.discord.world.threadRefusal = refusal;
    await start();
    harness.userSays(harness.group, { text: 'plan', mentionsUs: true });
    const { place } = await accepted.message();
    const sent = await channel.send(place, { text: 'here' });
    await channel.edit?.(place, sent, { text: 'here instead' });
    expect(harness.discord.world.sent.map(({ message }) => [message.channel_id, message.content])).toEqual([
      [harness.group.chat, 'here instead'],
    ]);
  });

  it('what belongs into a thread that was deleted is not said in its channel, where others would read it', async () => {
    harness.discord.world.threadRefusal = { status: 403, code: 50_013 };
    await start();
    harness.discord.world.says({ channel: harness.thread?.thread ?? '', content: 'secret', mentions: [bot] });
    const { place } = await accepted.message();
    harness.discord.world.channels.delete(place.thread ?? '');
    await expect(channel.send(place, { text: 'secret' })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.discord.world.sent).toEqual([]);
  });

  it('are not made in a direct chat', async () => {
    await start();
    says('plan');
    expect((await accepted.message()).place.thread).toBeUndefined();
  });
});
