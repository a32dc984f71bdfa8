import type { ComponentType } from 'discord-api-types/v10';
import { idAt } from '../../../src/channels/discord/ids.ts';
import { discord } from '../../../src/channels/discord/index.ts';
import type { Channel, Place } from '../../../src/core/channel.ts';
import type { ChannelNotes } from '../../../src/core/channel-notes.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import type { FlowHarness } from '../../contracts/channel-flow.ts';
import type { SaidByUser, SendFailure, Shown } from '../../contracts/channel-harness.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';
import { type Failure, FakeDiscord } from '../../fakes/discord/server.ts';
import { shownText } from '../../fakes/discord/shown-text.ts';
import { ada, type BotMessage, bob, bot, guild } from '../../fakes/discord/world.ts';

const channels = { ada: '5001', bob: '5002', general: '6001', thread: '7001' } as const;

function placeOf(channel: string, server?: string, thread?: string): Place {
  return { platform: 'discord', workspace: server, chat: channel, thread };
}

export interface DiscordHarness extends FlowHarness {
  readonly discord: FakeDiscord;
  readonly notes: KeptNotes;
}

export function discordChannel(
  server: FakeDiscord,
  notes: ChannelNotes,
  log: (sentence: string) => void,
  { token = server.token, deliveries }: { token?: string; deliveries?: Deliveries } = {},
): Channel {
  return discord.create({ secret: () => token, log, notes, deliveries }, discord.options.parse({ api_root: server.root }));
}

export async function discordHarness(): Promise<DiscordHarness> {
  const server = await FakeDiscord.start();
  const { world } = server;
  world.direct(channels.ada);
  world.direct(channels.bob);
  world.textChannel(channels.general);
  world.thread(channels.thread, channels.general, ada.id);
  const notes = new KeptNotes();
  // As of a bot that has run before, and was written to.
  const now = String(Date.now());
  await notes.write({ read: String(idAt(Date.now() - 1000)), [`direct:${channels.ada}`]: now, [`direct:${channels.bob}`]: now });
  const log: string[] = [];
  const channelIn = ({ chat, thread }: Place): string => thread ?? chat;
  return {
    discord: server,
    kind: 'discord',
    section: { api_root: server.root },
    variables: { DISCORD_BOT_TOKEN: server.token },
    people: { direct: ada.id, otherDirect: bob.id },
    loseAnswer: () => server.fail('send', { cut: 'after' }),
    notes,
    log,
    secret: server.token,
    direct: placeOf(channels.ada),
    otherDirect: placeOf(channels.bob),
    group: placeOf(channels.general, guild),
    thread: placeOf(channels.general, guild, channels.thread),
    create: () => discordChannel(server, notes, (sentence) => log.push(sentence)),
    createWithWrongToken: () => discordChannel(server, notes, (sentence) => log.push(sentence), { token: `x${server.token}` }),
    userSays(place: Place, { text, name, mentionsUs, repliesTo, file }: SaidByUser): string {
      const person = place.chat === channels.bob ? bob : ada;
      const from = name === undefined ? person : { ...person, global_name: name };
      return world.says({
        from,
        channel: channelIn(place),
        content: mentionsUs ? `<@${bot.id}> ${text}` : text,
        ...(mentionsUs && { mentions: [bot] }),
        ...(repliesTo !== undefined && { replyTo: repliesTo }),
        ...(file && { files: [file] }),
      }).id;
    },
    botSays: (place, text) => void world.says({ channel: channelIn(place), content: text, from: { ...bob, bot: true } }),
    userPresses: (place, message, data) => void world.presses(channelIn(place), message, data),
    shown: (place) => world.sent.filter(({ message }) => message.channel_id === channelIn(place)).map(shownOf),
    typingShown: (place) => world.typing.filter((channel) => channel === channelIn(place)).length,
    noticesShown: () => world.notices,
    unconfirmed: () => {
      const mark = BigInt(notes.all.get('read') ?? 0);
      return [...world.messages.values()].filter(({ id, author }) => !author.bot && BigInt(id) > mark).length;
    },
    deliverAgain: () => world.deliverAgain(),
    failSend: (failure) => server.fail('send', failureOf(failure)),
    failEdit: (failure) => server.fail('edit', failureOf(failure)),
    failFetch: (failure) => server.fail('download', failureOf(failure)),
    goDown: () => server.goDown(),
    comeUp: () => server.comeUp(),
    close: () => server.close(),
  };
}

function failureOf(failure: SendFailure): Failure {
  if (failure === 'busy') return { status: 502 };
  if (failure === 'cut') return { cut: 'before' };
  if (failure === 'refused') return { status: 403 };
  return { status: 429, retryAfter: failure.retryAfterSeconds };
}

type Row = { type: ComponentType.ActionRow; components: { label: string; custom_id: string }[] };

function shownOf({ message, versions, file }: BotMessage): Shown {
  const rows = (message.components ?? []) as unknown as Row[];
  return {
    id: message.id,
    text: shownText(message.content),
    versions: versions.map(shownText),
    buttons: rows.flatMap(({ components }) => components.map(({ label, custom_id }) => ({ label, data: custom_id }))),
    replyTo: message.message_reference?.message_id,
    file,
  };
}
