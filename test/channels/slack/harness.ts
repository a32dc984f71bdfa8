import { microseconds, microsecondsAt } from '../../../src/channels/slack/ids.ts';
import { slack } from '../../../src/channels/slack/index.ts';
import type { Channel, Place } from '../../../src/core/channel.ts';
import type { ChannelNotes } from '../../../src/core/channel-notes.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import type { FlowHarness } from '../../contracts/channel-flow.ts';
import type { SaidByUser, SendFailure, Shown } from '../../contracts/channel-harness.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';
import { type Failure, FakeSlack } from '../../fakes/slack/server.ts';
import { shownText } from '../../fakes/slack/shown-text.ts';
import { ada, type BotMessage, bob, encoded, home } from '../../fakes/slack/world.ts';

export const channels = { ada: 'DADA1', bob: 'DBOB1', general: 'CGENERAL1' } as const;

export function placeOf(channel: string, thread?: string, team = home.team): Place {
  return { platform: 'slack', workspace: team, chat: channel, thread };
}

export interface SlackHarness extends FlowHarness {
  readonly slack: FakeSlack;
  readonly notes: KeptNotes;
  readonly log: string[];
}

interface Made {
  tokens?: string;
  appToken?: string;
  deliveries?: Deliveries;
  commands?: readonly { name: string; help: string }[];
  options?: Record<string, unknown>;
}

export function slackChannel(server: FakeSlack, notes: ChannelNotes, log: (sentence: string) => void, made: Made = {}): Channel {
  const { tokens = home.token, appToken = server.appToken, deliveries, commands, options } = made;
  const secret = (option: string): string => (option === 'token_env' ? tokens : appToken);
  return slack.create({ secret, log, notes, deliveries, commands }, slack.options.parse({ api_root: server.root, ...options }));
}

export async function slackHarness(): Promise<SlackHarness> {
  const server = await FakeSlack.start();
  const { world } = server;
  for (const channel of Object.values(channels)) world.channel(channel);
  const notes = new KeptNotes();
  // As of a bot that has run before, and was written to.
  const now = Date.now();
  const chats = Object.values(channels).map((channel) => [`chat:${home.team}/${channel}`, String(now)]);
  await notes.write({ read: String(microsecondsAt(now - 1000)), ...Object.fromEntries(chats) });
  const root = world.makes({ channel: channels.general, text: 'what the thread is about', from: bob });
  await notes.write({ read: String(microseconds(root.ts)) });
  const log: string[] = [];
  const harness: SlackHarness = {
    slack: server,
    kind: 'slack',
    section: { api_root: server.root },
    variables: { SLACK_BOT_TOKEN: home.token, SLACK_APP_TOKEN: server.appToken },
    people: { direct: `${home.team}/${ada}`, otherDirect: `${home.team}/${bob}` },
    loseAnswer: () => server.fail('chat.postMessage', { cut: 'after' }),
    notes,
    log,
    secret: home.token,
    hasReplies: false,
    direct: placeOf(channels.ada),
    otherDirect: placeOf(channels.bob),
    group: placeOf(channels.general),
    thread: placeOf(channels.general, root.ts),
    create: () => slackChannel(server, notes, (sentence) => log.push(sentence)),
    createWithWrongToken: () => slackChannel(server, notes, (sentence) => log.push(sentence), { tokens: `${home.token}x` }),
    userSays({ chat, thread }: Place, { text, name, mentionsUs, repliesTo, file }: SaidByUser): string {
      const from = chat === channels.bob ? bob : ada;
      if (name !== undefined) world.names.set(from, name);
      const about = repliesTo ?? thread;
      return world.says({
        from,
        channel: chat,
        source: mentionsUs ? `<@${home.bot}> ${encoded(text)}` : encoded(text),
        ...(about !== undefined && { thread: about }),
        ...(file && { files: [file] }),
      }).ts;
    },
    botSays: ({ chat }, text) => void world.says({ channel: chat, text, from: bob, more: { bot_id: 'BOTHER', subtype: 'bot_message' } }),
    userPresses: ({ chat }, message, data) => world.presses(chat, message, data),
    shown: ({ chat, thread }) => world.sent.filter(({ message }) => message.channel === chat && message.thread_ts === thread).map(shownOf),
    typingShown: () => 0,
    noticesShown: () => world.notices.map(({ text }) => text),
    unconfirmed: () => {
      const mark = Number(notes.all.get('read') ?? 0) / 1_000_000;
      const isAnswered = (ts: string): boolean => (world.envelopes.get(ts) ?? []).some((id) => server.sockets.answers.has(id));
      return world.messages.filter(({ ts, bot_id: isBot }) => isBot === undefined && !isAnswered(ts) && Number(ts) > mark).length;
    },
    deliverAgain: () => world.deliverAgain(),
    failSend: (failure) => server.fail('chat.postMessage', failureOf(failure)),
    failEdit: (failure) => server.fail('chat.update', failureOf(failure)),
    failFetch: (failure) => server.fail('download', failureOf(failure)),
    goDown: () => server.goDown(),
    comeUp: () => server.comeUp(),
    close: () => server.close(),
  };
  return harness;
}

function failureOf(failure: SendFailure): Failure {
  if (failure === 'busy') return { status: 502 };
  if (failure === 'cut') return { cut: 'before' };
  if (failure === 'refused') return { status: 403 };
  return { status: 429, retryAfter: failure.retryAfterSeconds };
}

interface Row {
  type: string;
  elements: { text: { text: string }; value: string }[];
}

function shownOf({ message, versions, file }: BotMessage): Shown {
  const rows = (message.blocks as Row[]).filter(({ type }) => type === 'actions');
  return {
    id: message.ts,
    text: shownText(message.blocks),
    versions: versions.map(shownText),
    buttons: rows.flatMap(({ elements }) => elements.map(({ text, value }) => ({ label: text.text, data: value }))),
    replyTo: undefined,
    file,
  };
}
