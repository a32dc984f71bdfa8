import { telegram } from '../../../src/channels/telegram/index.ts';
import type { Channel, Place } from '../../../src/core/channel.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import type { ChannelHarness, SaidByUser, SendFailure, Shown } from '../../contracts/channel-harness.ts';
import { ada, type BotMessage, bob, bot, type Failure, FakeBotApi } from '../../fakes/bot-api.ts';

export const groupId = -1_001_000_000_001;
export const forumId = -1_001_000_000_002;
export const topic = 17;

export function placeOf(chat: number, thread?: number): Place {
  return { platform: 'telegram', workspace: undefined, chat: String(chat), thread: thread === undefined ? undefined : String(thread) };
}

export function telegramChannel(
  api: FakeBotApi,
  log: (sentence: string) => void,
  token = api.token,
  commands: readonly { name: string; help: string }[] = [],
  deliveries?: Deliveries,
): Channel {
  return telegram.create({ secret: () => token, log, commands, deliveries }, telegram.options.parse({ api_root: api.root }));
}

export interface TelegramHarness extends ChannelHarness {
  readonly api: FakeBotApi;
}

export async function telegramHarness(): Promise<TelegramHarness> {
  const api = await FakeBotApi.start();
  const { world } = api;
  world.privateChat(ada);
  world.privateChat(bob);
  world.group(groupId);
  world.forum(forumId, [topic]);
  const log: string[] = [];
  const isThere = (place: Place) => (one: BotMessage) =>
    String(one.chat) === place.chat && (one.thread === undefined ? undefined : String(one.thread)) === place.thread;
  return {
    api,
    log,
    secret: api.token.split(':')[1] ?? '',
    direct: placeOf(ada.id),
    otherDirect: placeOf(bob.id),
    group: placeOf(groupId),
    thread: placeOf(forumId, topic),
    create: () => telegramChannel(api, (sentence) => log.push(sentence)),
    createWithWrongToken: () => telegramChannel(api, (sentence) => log.push(sentence), `1${api.token}`),
    userSays(place: Place, { text, name, mentionsUs, repliesTo, file }: SaidByUser): string {
      const person = [ada, bob].find(({ id }) => String(id) === place.chat) ?? ada;
      const from = name === undefined ? person : { ...person, first_name: name };
      const message = world.says({
        from,
        text: mentionsUs ? `${text} @${bot.username}` : text,
        chat: Number(place.chat),
        ...(place.thread !== undefined && { thread: Number(place.thread) }),
        ...(repliesTo !== undefined && { replyTo: Number(repliesTo) }),
        ...(file && { document: file }),
      });
      return String(message.message_id);
    },
    botSays: (place, text) => void world.says({ chat: Number(place.chat), text, from: { ...bob, is_bot: true } }),
    userPresses: (place, message, data) => void world.pressesData(Number(place.chat), Number(message), data),
    shown: (place) => world.sent.filter(isThere(place)).map(shownOf),
    typingShown: (place) => world.typing.filter(({ chat }) => String(chat) === place.chat).length,
    noticesShown: () => world.noticed.map(({ text }) => text),
    unconfirmed: () => api.unconfirmed.length,
    deliverAgain: () => api.deliverAgain(Math.max(...api.deliveredIds)),
    failSend: (failure) => api.fail('sendMessage', failureOf(failure)),
    failEdit: (failure) => api.fail('editMessageText', failureOf(failure)),
    failFetch: (failure) => api.fail('download', failureOf(failure)),
    goDown: () => api.goDown(),
    comeUp: () => api.comeUp(),
    close: () => api.close(),
  };
}

function failureOf(failure: SendFailure): Failure {
  if (failure === 'busy') return { status: 502, body: '<html>Bad Gateway</html>' };
  if (failure === 'cut') return { cut: 'before' };
  if (failure === 'refused') return { status: 403 };
  return { status: 429, retryAfter: failure.retryAfterSeconds };
}

function shownOf({ id, text, versions, markup, replyTo, file }: BotMessage): Shown {
  const buttons = markup?.inline_keyboard
    .flat()
    .map((button) => ({ label: button.text, data: 'callback_data' in button ? button.callback_data : '' }));
  return { id: String(id), text, versions, buttons: buttons ?? [], replyTo: replyTo === undefined ? undefined : String(replyTo), file };
}
