import { whatsAppCloud, whatsAppCloudChannel } from '../../../src/channels/whatsapp-cloud/index.ts';
import type { Channel, Place } from '../../../src/core/channel.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import type { FlowHarness } from '../../contracts/channel-flow.ts';
import type { SaidByUser, SendFailure, Shown } from '../../contracts/channel-harness.ts';
import { type Failure, FakeWhatsAppCloud } from '../../fakes/whatsapp-cloud/server.ts';
import { ada, bob, business, type FakePerson, type SentMessage } from '../../fakes/whatsapp-cloud/world.ts';
import { shownText } from '../../fakes/whatsapp-shown-text.ts';
import { freePort } from '../../free-port.ts';

/** So that a test need not wait for the state. */
const quickPace = { everyMs: 50, firstPauseMs: 20 };

export function placeOf({ id }: FakePerson): Place {
  return { platform: 'whatsapp_cloud', workspace: undefined, chat: id, thread: undefined };
}

interface Given {
  token?: string;
  appSecret?: string;
  verifyToken?: string;
  deliveries?: Deliveries;
  options?: Record<string, unknown>;
}

export interface WhatsAppCloudHarness extends FlowHarness {
  readonly cloud: FakeWhatsAppCloud;
  readonly port: number;
  channel(given?: Given): Channel;
}

export async function whatsAppCloudHarness(): Promise<WhatsAppCloudHarness> {
  const port = await freePort();
  const cloud = await FakeWhatsAppCloud.start(`http://127.0.0.1:${port}/whatsapp`);
  const { world } = cloud;
  const log: string[] = [];
  const section = { api_root: cloud.root, phone_number_id: business.id, webhook_port: port };
  const channel = ({ token, appSecret, verifyToken, deliveries, options = {} }: Given = {}): Channel => {
    const secrets: Record<string, string> = {
      token_env: token ?? cloud.token,
      app_secret_env: appSecret ?? cloud.appSecret,
      verify_token_env: verifyToken ?? cloud.verifyToken,
    };
    const context = { secret: (option: string) => secrets[option] ?? '', log: (sentence: string) => void log.push(sentence), deliveries };
    return whatsAppCloudChannel(context, whatsAppCloud.options.parse({ ...section, ...options }), quickPace);
  };
  const personIn = ({ chat }: Place): FakePerson => (chat === bob.id ? bob : ada);
  return {
    cloud,
    port,
    channel,
    log,
    kind: 'whatsapp_cloud',
    section,
    variables: {
      WHATSAPP_CLOUD_TOKEN: cloud.token,
      WHATSAPP_CLOUD_APP_SECRET: cloud.appSecret,
      WHATSAPP_CLOUD_VERIFY_TOKEN: cloud.verifyToken,
    },
    people: { direct: ada.id, otherDirect: bob.id },
    loseAnswer: () => cloud.fail('send', { cut: 'after' }),
    secret: cloud.token,
    hasGroups: false,
    withoutOrder: 'Meta delivers each message again by itself',
    direct: placeOf(ada),
    otherDirect: placeOf(bob),
    group: placeOf(ada),
    thread: undefined,
    create: () => channel(),
    createWithWrongToken: () => channel({ token: `${cloud.token}x` }),
    userSays(place: Place, { text, name, repliesTo, file }: SaidByUser): string {
      const person = personIn(place);
      return world.says({
        from: name === undefined ? person : { ...person, name },
        text,
        ...(repliesTo !== undefined && { replyTo: repliesTo }),
        ...(file && { file }),
      });
    },
    botSays: (place, text) => world.echoes(personIn(place), text),
    userPresses: (place, message, data) => void world.chooses(personIn(place), message, data),
    shown: (place) => world.sent.filter(({ to }) => to === place.chat).map(shownOf),
    typingShown: (place) => world.typing.filter((chat) => chat === place.chat).length,
    noticesShown: () => world.sent.filter(({ replyTo }) => world.presses.has(replyTo ?? '')).map(({ text }) => text),
    unconfirmed: () => cloud.waiting.length,
    deliverAgain: () => cloud.deliverAgain(),
    failSend: (failure) => cloud.fail('send', failureOf(failure)),
    failEdit: (failure) => cloud.fail('send', failureOf(failure)),
    failFetch: (failure) => cloud.fail('download', failureOf(failure)),
    goDown: () => cloud.goDown(),
    comeUp: () => cloud.comeUp(),
    close: () => cloud.close(),
  };
}

function failureOf(failure: SendFailure): Failure {
  if (failure === 'busy') return { status: 503, code: 131_016 };
  if (failure === 'cut') return { cut: 'before' };
  if (failure === 'refused') return { status: 400, code: 131_026 };
  return { status: 400, code: 130_429, retryAfter: failure.retryAfterSeconds };
}

function shownOf({ id, text, buttons, replyTo, file }: SentMessage): Shown {
  return { id, text: shownText(text), versions: [shownText(text)], buttons, replyTo, file };
}
