import { type APIInteraction, MessageReferenceType, MessageType } from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChannelFacts, type Delivered, filePlaceOf, parseInteraction, parseMessage } from '../../../src/channels/discord/parse.ts';
import type { Incoming, IncomingMessage } from '../../../src/core/channel.ts';
import { Access, type PlatformRules } from '../../../src/gateway/access.ts';
import { ada, bob, bot, botRole, DiscordWorld, guild, type Said } from '../../fakes/discord/world.ts';

const self = { id: bot.id, roles: new Map([[guild, botRole]]) };
const direct: ChannelFacts = { isDirect: true, server: undefined, parent: undefined, isOurs: false };
const inServer: ChannelFacts = { isDirect: false, server: guild, parent: undefined, isOurs: false };

function messageOf(said: Partial<Said>, channel = '6001'): Delivered {
  const world = new DiscordWorld(
    () => undefined,
    () => 'http://127.0.0.1:1',
  );
  world.direct('5001');
  world.textChannel('6001');
  return world.says({ channel, content: 'hello', ...said }) as Delivered;
}

function parse(said: Partial<Said>, facts = inServer): IncomingMessage | undefined {
  return parseMessage(messageOf(said), self, facts);
}

describe('who is meant on Discord', () => {
  const mention = { mentions: [bot] };
  it.each<[string, Partial<Said>, string]>([
    ['a mention', { content: `<@${bot.id}> list the files`, ...mention }, 'list the files'],
    ['a mention in the old form', { content: `<@!${bot.id}> list`, ...mention }, 'list'],
    ['a mention inside', { content: `list, <@${bot.id}>, the files`, ...mention }, 'list, @Hermetic, the files'],
    ['a command after a mention', { content: `<@${bot.id}> /run ls`, ...mention }, '/run ls'],
    ["the role that is the bot's own", { content: `<@&${botRole}> list`, more: { mention_roles: [botRole] } }, 'list'],
  ])('takes as meant for the bot: %s', (_, said, text) => {
    expect(parse(said)).toMatchObject({ isAddressed: true, isDirect: false, text });
  });

  it.each<[string, Partial<Said>]>([
    ['nobody', {}],
    ['another person', { content: `<@${bob.id}> hello`, mentions: [bob] }],
    ['everyone', { content: '@everyone hello', more: { mention_everyone: true } }],
    ['another role', { content: '<@&77> hello', more: { mention_roles: ['77'] } }],
    ['the id of the bot without a mention', { content: `<@${bot.id}> hello` }],
    ["the bot's name", { content: 'Hermetic, hello' }],
    ['a mention in code, which Discord does not count', { content: `\`<@${bot.id}>\`` }],
  ])('does not take as meant for the bot what names %s', (_, said) => {
    expect(parse(said)).toMatchObject({ isAddressed: false });
  });

  it('takes everything in a direct chat and in a thread that the bot began as meant for it', () => {
    expect(parse({}, direct)).toMatchObject({ isDirect: true, isAddressed: true });
    expect(parse({}, { ...inServer, parent: '1', isOurs: true })).toMatchObject({ isDirect: false, isAddressed: true });
  });

  it('takes a reply to the bot as meant for it, and one to somebody else not', () => {
    const reply = (author: unknown) => ({ more: { type: MessageType.Reply, referenced_message: { author, content: 'earlier' } } });
    expect(parse(reply(bot))).toMatchObject({ isAddressed: true, quoted: { from: 'Hermetic', text: 'earlier' } });
    expect(parse(reply(bob))).toMatchObject({ isAddressed: false, quoted: { from: 'Bob', text: 'earlier' } });
    expect(parse({ more: { type: MessageType.Reply, referenced_message: null } })).toMatchObject({ isAddressed: false, quoted: undefined });
  });
});

describe('places on Discord', () => {
  it('names the server, the channel and the thread', () => {
    expect(parse({})?.place).toEqual({ platform: 'discord', workspace: guild, chat: '6001', thread: undefined });
    expect(parse({}, { ...inServer, parent: '55' })?.place).toEqual({ platform: 'discord', workspace: guild, chat: '55', thread: '6001' });
    expect(parse({}, direct)?.place).toEqual({ platform: 'discord', workspace: undefined, chat: '6001', thread: undefined });
  });

  it('answers in a thread that begins with the message where that is wanted', () => {
    const message = messageOf({});
    const place = parseMessage(message, self, { ...inServer, beginsThread: true })?.place;
    expect(place).toMatchObject({ chat: '6001', thread: message.id });
    expect(parse({}, { ...inServer, parent: '55', beginsThread: true })?.place).toMatchObject({ chat: '55', thread: '6001' });
  });
});

describe('messages of Discord that are ignored', () => {
  it.each<[string, Partial<Said>]>([
    ['other bots', { from: { ...bob, bot: true } }],
    ['ourselves', { from: bot }],
    ['the system', { from: { ...bob, system: true } }],
    ['webhooks', { more: { webhook_id: '5' } }],
    ['notices of new members', { more: { type: MessageType.UserJoin } }],
    ['notices of pinned messages', { more: { type: MessageType.ChannelPinnedMessage } }],
    ['nothing at all', { content: '' }],
  ])('ignores %s', (_, said) => {
    expect(parse(said)).toBeUndefined();
  });
});

describe('what a message of Discord says', () => {
  it('a forwarded message is marked, is no command of the person and does not address the bot', () => {
    const more = {
      message_reference: { type: MessageReferenceType.Forward, message_id: '1' },
      message_snapshots: [{ message: { content: `<@${bot.id}> /yolo`, attachments: [] } }],
    };
    const parsed = parse({ content: '', more, mentions: [bot] });
    expect(parsed).toMatchObject({ forwarded: { from: '' }, isAddressed: false, text: `<@${bot.id}> /yolo` });
  });

  it('a voice note and a picture are files', () => {
    const files = [
      { name: 'voice-message.ogg', data: Buffer.from('1') },
      { name: 'a.png', data: Buffer.from('22') },
    ];
    const parsed = parse({ content: '', files });
    expect(parsed?.files).toMatchObject([
      { name: 'voice-message.ogg', bytes: 1 },
      { name: 'a.png', bytes: 2 },
    ]);
    expect(filePlaceOf(parsed?.files[0]?.id ?? '')).toMatchObject({ channel: '6001' });
  });

  it.each(['["1","2"]', '["1","2","../3"]', '["1","2",3]', 'x', '', '{}', 'null', '["1","2","3 "]'])('a file is not found by %j', (id) => {
    expect(filePlaceOf(id)).toBeUndefined();
  });

  it('the nick of the server goes before the name', () => {
    expect(parse({ nick: 'The Countess' })?.from).toEqual({ id: ada.id, name: 'The Countess' });
    expect(parse({})?.from.name).toBe('Ada');
  });
});

describe('who may talk on Discord', () => {
  const rules = (more: Partial<PlatformRules> = {}): PlatformRules => ({
    ...{ isOwn: false, allowedUsers: [], allowedRoles: [], admins: [], allowAll: false, requireMention: true },
    ...more,
  });
  const unpaired = { find: async () => undefined, paired: async () => [], request: async () => undefined } as never;
  const mentioned = { content: `<@${bot.id}> hi`, mentions: [bot] };
  const withRoles = (roles: string[]): Partial<Said> => ({ ...mentioned, more: { member: { roles } } });

  it.each<[string, Partial<Said>, Partial<PlatformRules>, string]>([
    ['a stranger on a server', mentioned, {}, 'ignored'],
    ['a person who is allowed', mentioned, { allowedUsers: [ada.id] }, 'admitted'],
    ['a person who is allowed, without a mention', {}, { allowedUsers: [ada.id] }, 'ignored'],
    ['the same where no mention is required', {}, { allowedUsers: [ada.id], requireMention: false }, 'admitted'],
    ['a person with an allowed role', withRoles(['800', '801']), { allowedRoles: ['801'] }, 'admitted'],
    ['a person with another role', withRoles(['800']), { allowedRoles: ['801'] }, 'ignored'],
    ['a person whose id is an allowed role', mentioned, { allowedRoles: [ada.id] }, 'ignored'],
    ['a person with a role whose id is an allowed person', withRoles(['555']), { allowedUsers: ['555'] }, 'ignored'],
    [
      'a person with the name of one who is allowed',
      { ...mentioned, from: { ...ada, username: '1002' } },
      { allowedUsers: ['1002'] },
      'ignored',
    ],
    ['everybody, when all are', mentioned, { allowAll: true }, 'admitted'],
    ['a bot, when all are', { ...mentioned, from: { ...bob, bot: true } }, { allowAll: true }, 'unread'],
  ])('%s: %#', async (_, said, more, expected) => {
    const incoming = parse(said);
    const admission = incoming && (await new Access(() => rules(more), unpaired).admit(incoming));
    expect(admission?.kind ?? 'unread').toBe(expected);
  });

  it('roles give nobody the rights of an admin', async () => {
    const incoming = parse(withRoles(['801']));
    const admission = incoming && (await new Access(() => rules({ allowedRoles: ['801'], admins: ['801'] }), unpaired).admit(incoming));
    expect(admission).toEqual({ kind: 'admitted', role: 'user' });
  });
});

describe('malformed deliveries of Discord', () => {
  const good = messageOf({ content: `<@${bot.id}> hi`, mentions: [bot], files: [{ name: 'a', data: Buffer.from('x') }] });
  const press = {
    ...{ id: '1', application_id: '2', type: 3, token: 't', version: 1, data: { component_type: 2, custom_id: 'q' }, user: ada },
    message: good,
    channel: { id: '6001', type: 0 },
  };
  const command = { ...press, type: 2, data: { id: '1', name: 'run', type: 1, options: [{ type: 3, name: 'text', value: 'ls' }] } };

  /** Whatever is read is whole, and from somebody who has an id that Discord gave. */
  const check = (read: () => Incoming | undefined): void => {
    let incoming: Incoming | undefined;
    try {
      incoming = read();
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
      return;
    }
    if (!incoming) return;
    expect(incoming.from.id).toMatch(/^\d{1,20}$/);
    expect(incoming.place.chat).toMatch(/^\d{1,20}$/);
    expect(Number.isNaN(incoming.at.getTime())).toBe(false);
    if (incoming.kind === 'message') expect(typeof incoming.text).toBe('string');
    else expect(typeof incoming.data).toBe('string');
  };

  /** One value somewhere inside is replaced. */
  const spoiled = (value: unknown) =>
    fc.tuple(fc.constantFrom(...pathsIn(value)), fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.string())).map(([path, other]) => {
      const copy = structuredClone(value) as Record<string, unknown>;
      let at: Record<string, unknown> = copy;
      for (const step of path.slice(0, -1)) at = at[step] as Record<string, unknown>;
      at[path.at(-1) ?? ''] = other;
      return copy;
    });

  it('any value in a message, a press or a command may be wrong without harm', () => {
    fc.assert(
      fc.property(spoiled(good), (message) => check(() => parseMessage(message as never, self, inServer))),
      { numRuns: 2000 },
    );
    for (const interaction of [press, command]) {
      fc.assert(
        fc.property(spoiled(interaction), (one) => check(() => parseInteraction(one as unknown as APIInteraction, inServer))),
        { numRuns: 1000 },
      );
    }
  });

  it('anything at all may be delivered without harm', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        check(() => parseMessage(value as never, self, inServer));
        check(() => parseInteraction(value as never, inServer));
      }),
      { numRuns: 500 },
    );
  });
});

function pathsIn(value: unknown, path: readonly string[] = []): string[][] {
  const own = path.length === 0 ? [] : [[...path]];
  if (typeof value !== 'object' || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]))];
}
