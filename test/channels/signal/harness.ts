import { signal } from '../../../src/channels/signal/index.ts';
import type { Channel, Place } from '../../../src/core/channel.ts';
import type { ChannelNotes } from '../../../src/core/channel-notes.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import type { FlowHarness } from '../../contracts/channel-flow.ts';
import type { SaidByUser, SendFailure, Shown } from '../../contracts/channel-harness.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';
import { type Failure, FakeSignalDaemon } from '../../fakes/signal/daemon.ts';
import { ada, bob, type FakeFile, type FakePerson, type SentMessage, team, us } from '../../fakes/signal/world.ts';

/** Solves a captcha: whoever has it can send in our name. */
const challengeToken = 'challenge-that-nobody-may-see-0123';

export function placeOf(chat: string): Place {
  return { platform: 'signal', workspace: undefined, chat, thread: undefined };
}

/** Says things in the group under any name. */
const grace: FakePerson = { uuid: '44444444-dddd-4ddd-8ddd-444444444444', number: '+15550000004', name: 'Grace' };

export const groupPlace = placeOf(`group:${team}`);

export interface SignalHarness extends FlowHarness {
  readonly daemon: FakeSignalDaemon;
  readonly notes: KeptNotes;
  channelWith(options: Record<string, unknown>, deliveries?: Deliveries): Channel;
}

export interface HarnessOptions {
  /** Which way the daemon is reached. */
  over?: 'http' | 'socket';
}

export async function signalHarness({ over = 'http' }: HarnessOptions = {}): Promise<SignalHarness> {
  const daemon = await FakeSignalDaemon.start();
  const { world } = daemon;
  const notes = new KeptNotes();
  const log: string[] = [];
  const address = over === 'http' ? { api_root: daemon.root } : { socket: daemon.socket };
  const channelWith = (options: Record<string, unknown>, deliveries?: Deliveries): Channel =>
    signal.create(
      { secret: () => '', log: (sentence) => void log.push(sentence), notes, deliveries },
      signal.options.parse({ account: us.number, ...address, ...options }),
    );
  return {
    daemon,
    notes,
    log,
    channelWith,
    kind: 'signal',
    section: { account: us.number, ...address },
    variables: {},
    people: { direct: ada.uuid, otherDirect: bob.uuid },
    secret: challengeToken,
    direct: placeOf(ada.uuid),
    otherDirect: placeOf(bob.uuid),
    group: groupPlace,
    thread: undefined,
    ...(over === 'socket' && { withoutRedelivery: 'signal-cli hands a message to its socket once, and keeps nothing' }),
    create: () => channelWith({}),
    createWithWrongToken: () => channelWith({ account: '+15559999999' }),
    userSays(place: Place, { text, name, mentionsUs, repliesTo, file }: SaidByUser): string {
      const isGroup = place.chat === groupPlace.chat;
      const person = place.chat === bob.uuid ? bob : isGroup && name !== undefined ? grace : ada;
      const quoted = repliesTo === undefined ? undefined : world.textOf(repliesTo);
      const timestamp = world.says({
        from: name === undefined ? person : { ...person, name },
        ...(isGroup && { group: team }),
        text: mentionsUs ? `\ufffc ${text}` : text,
        ...(mentionsUs && { mentions: [{ of: us, start: 0 }] }),
        ...(quoted && { quote: { ...quoted, timestamp: Number(repliesTo?.split(':').at(-1)) } }),
        ...(file && { files: [file as FakeFile] }),
      });
      return `${person.uuid}:${timestamp}`;
    },
    botSays: (place, text) => void world.weSay({ text, ...(place.chat === groupPlace.chat && { group: team }) }),
    userPresses: (_, message, data) => world.reacts(data, { author: us, timestamp: Number(message) }),
    shown: (place) => world.sent.filter(({ chat }) => chat === place.chat).map(shownOf),
    typingShown: (place) => world.typing.filter((chat) => chat === place.chat).length,
    noticesShown: () => [],
    unconfirmed: () => (over === 'socket' ? 0 : daemon.after(notes.all.get('events'))),
    deliverAgain: () => world.deliverAgain(),
    failSend: (failure) => daemon.fail('send', failureOf(failure)),
    failEdit: (failure) => daemon.fail('edit', failureOf(failure)),
    failFetch: (failure) => daemon.fail('getAttachment', failureOf(failure)),
    loseAnswer: () => daemon.fail('send', { cut: 'after' }),
    goDown: () => daemon.goDown(),
    comeUp: () => daemon.comeUp(),
    close: () => daemon.close(),
  };
}

function failureOf(failure: SendFailure): Failure {
  if (failure === 'busy') return { error: { code: -3, message: 'Failed to send message: connection refused (ConnectException)' } };
  if (failure === 'cut') return { cut: 'before' };
  if (failure === 'refused') return { error: { code: -1, message: 'Failed to send message' } };
  const { retryAfterSeconds } = failure;
  const results = [{ type: 'RATE_LIMIT_FAILURE', token: challengeToken, retryAfterSeconds }];
  return {
    error: {
      code: -5,
      message: `Failed to send message due to rate limiting, token ${challengeToken}`,
      data: { response: { timestamp: 1, results } },
    },
  };
}

function shownOf({ timestamps, versions, quote, file }: SentMessage): Shown {
  return {
    id: String(timestamps[0]),
    text: versions.at(-1) ?? '',
    versions,
    buttons: [],
    replyTo: quote && (quote.author === us.number ? String(quote.timestamp) : `${quote.author}:${quote.timestamp}`),
    file: file && { name: file.name ?? '', data: file.data },
  };
}
