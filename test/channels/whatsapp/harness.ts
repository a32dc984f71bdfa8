import { createCipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import * as baileys from 'baileys';
import { loadBaileys } from '../../../src/channels/whatsapp/baileys.ts';
import { whatsapp, whatsappChannel } from '../../../src/channels/whatsapp/index.ts';
import { askGateway } from '../../../src/cli/running-gateway.ts';
import { type Channel, type Place, reactionPrefix } from '../../../src/core/channel.ts';
import type { ChannelNotes } from '../../../src/core/channel-notes.ts';
import type { Deliveries } from '../../../src/core/set-aside.ts';
import type { FlowHarness } from '../../contracts/channel-flow.ts';
import type { ChannelHarness, SaidByUser, SendFailure } from '../../contracts/channel-harness.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';
import { signedIdentity } from '../../fakes/whatsapp/pairing.ts';
import type { FakePerson } from '../../fakes/whatsapp/person.ts';
import { type Failure, FakeWhatsApp, group } from '../../fakes/whatsapp/server.ts';
import { type ShownMessage, shownIn } from '../../fakes/whatsapp/shown.ts';
import { until } from '../../until.ts';

export function placeOf(chat: string): Place {
  return { platform: 'whatsapp', workspace: undefined, chat, thread: undefined };
}

/** How much has arrived and is not accepted. */
function arrivedIn({ all }: KeptNotes): number {
  return [...all.keys()].filter((key) => key.startsWith('arrived:')).length;
}

export interface WhatsAppHarness extends ChannelHarness {
  /** Ada reacts to the message of `author` that has this id. */
  reacts(place: Place, author: FakePerson, id: string, emoji: string): void;
  readonly server: FakeWhatsApp;
  readonly notes: KeptNotes;
}

export function channelAt(
  server: FakeWhatsApp,
  notes: ChannelNotes,
  log: (sentence: string) => void,
  { options = {}, deliveries }: { options?: Record<string, unknown>; deliveries?: Deliveries | undefined } = {},
): Channel {
  return whatsapp.create({ secret: () => '', log, notes, deliveries }, whatsapp.options.parse({ api_root: server.root, ...options }));
}

/** As of an account that was linked before. */
export async function linkBefore(server: FakeWhatsApp, notes: KeptNotes): Promise<string> {
  const creds = baileys.initAuthCreds();
  const { signedIdentityKey, registrationId, signedPreKey, noiseKey } = creds;
  const { keyId, keyPair, signature } = signedPreKey;
  server.link(
    { registrationId, identity: signedIdentityKey.public, signedPreKey: { keyId, publicKey: keyPair.public, signature } },
    noiseKey.public,
  );
  const account = signedIdentity(server.phone.creds, signedIdentityKey.public);
  const linked = { ...creds, me: { id: server.deviceJid, lid: server.deviceLid, name: 'Bot' }, account };
  await notes.write({ credentials: JSON.stringify(linked, baileys.BufferJSON.replacer) });
  return Buffer.from(noiseKey.private).toString('base64');
}

export async function whatsappHarness(options: Record<string, unknown> = {}): Promise<WhatsAppHarness> {
  const server = await FakeWhatsApp.start();
  const notes = new KeptNotes();
  const secret = await linkBefore(server, notes);
  const log: string[] = [];
  const chats = chatsOf(server);
  return {
    server,
    notes,
    log,
    secret,
    ...chats,
    wellFormedOnly: 'its texts are UTF-8',
    create: () => channelAt(server, notes, (sentence) => log.push(sentence), { options }),
    createWithWrongToken: () =>
      whatsappChannel(
        { secret: () => '', log: (sentence) => log.push(sentence), notes },
        whatsapp.options.parse({ api_root: server.root }),
        () => loadBaileys(async () => '6.7.0'),
      ),
    unconfirmed: () => server.unconfirmed.size + arrivedIn(notes),
    close: () => server.close(),
  };
}

/** For a gateway that links itself. */
export async function whatsappFlowHarness(): Promise<FlowHarness & WhatsAppHarness> {
  const harness = await whatsappHarness();
  const { server } = harness;
  return {
    ...harness,
    kind: 'whatsapp',
    section: { api_root: server.root },
    variables: {},
    people: { direct: server.ada.phone, otherDirect: server.bob.phone },
    loseAnswer: () => server.fail('send', { cut: 'after' }),
    async introduce(home) {
      const qr = await until('the gateway shows a QR code', async () => {
        const { channels = [] } = (await askGateway(home)) ?? {};
        return channels.find(({ kind }) => kind === 'whatsapp')?.link?.qr;
      });
      server.scan(qr);
    },
  };
}

/** What people do and see, wherever the program runs that is linked. */
export function chatsOf(server: FakeWhatsApp) {
  const names = new Map<string, string>();
  const said = new Map<string, { from: FakePerson; message: baileys.proto.IMessage }>();
  let last: (() => void) | undefined;
  const personIn = ({ chat }: Place): FakePerson => (chat === server.bob.phone ? server.bob : server.ada);
  const toGroup = ({ chat }: Place): string | undefined => (chat === group ? group : undefined);
  const deliver = (place: Place, from: FakePerson, message: baileys.proto.IMessage, name?: string): string => {
    const id = randomBytes(16).toString('hex').toUpperCase();
    const full = toGroup(place) === undefined ? id : `${id}/${from.lidJid}`;
    const chat = toGroup(place);
    last = () => server.says(from, id, message, { chat, ...(name !== undefined && { name }) });
    said.set(full, { from, message });
    names.set(id, full);
    last();
    return full;
  };
  const reacts = (place: Place, author: FakePerson, id: string, emoji: string): void => {
    const where = toGroup(place) === undefined ? { remoteJid: author.jid } : { remoteJid: group, participant: author.lidJid };
    deliver(place, personIn(place), { reactionMessage: { key: { ...where, fromMe: false, id }, text: emoji } });
  };
  return {
    direct: placeOf(server.ada.phone),
    otherDirect: placeOf(server.bob.phone),
    group: placeOf(group),
    thread: undefined,
    userSays(place: Place, given: SaidByUser): string {
      return deliver(place, personIn(place), messageOf(given), given.name);
    },
    botSays(place: Place, text: string): void {
      // Another device of our own account.
      deliver(place, server.phone, { conversation: text });
    },
    userPresses(place: Place, message: string, data: string): void {
      reacts(place, server.phone, message, data.slice(reactionPrefix.length));
    },
    reacts,
    shown: (place: Place): readonly ShownMessage[] => shownIn(server, place.chat, names),
    typingShown: ({ chat }: Place): number => server.typing.filter((to) => to.split('@')[0] === chat.split('@')[0]).length,
    noticesShown: () => [],
    deliverAgain: () => last?.(),
    failSend: (failure: SendFailure) => server.fail('send', failureOf(failure)),
    failEdit: (failure: SendFailure) => server.fail('edit', failureOf(failure)),
    failFetch: (failure: SendFailure) => server.fail('fetch', failureOf(failure)),
    goDown: () => server.goDown(),
    comeUp: () => server.comeUp(),
  };

  function messageOf({ text, mentionsUs, repliesTo, file }: SaidByUser): baileys.proto.IMessage {
    const context: baileys.proto.IContextInfo = {
      ...(mentionsUs && { mentionedJid: [server.phone.lidJid] }),
      ...(repliesTo !== undefined && quoted(repliesTo)),
    };
    const contextInfo = Object.keys(context).length > 0 ? context : undefined;
    if (file) return withFile(server, file, text);
    if (!contextInfo) return { conversation: text };
    return { extendedTextMessage: { text: mentionsUs ? `@${server.phone.lid} ${text}` : text, contextInfo } };
  }

  function quoted(id: string): baileys.proto.IContextInfo {
    const ours = server.sent.find((one) => one.id === id);
    if (ours) return { stanzaId: id, participant: server.phone.lidJid, quotedMessage: ours.message };
    const theirs = said.get(id);
    return { stanzaId: id.split('/')[0] ?? '', participant: theirs?.from.lidJid ?? null, quotedMessage: theirs?.message ?? null };
  }
}

/** The file is there when the message arrives. */
function withFile(server: FakeWhatsApp, { name, data }: NonNullable<SaidByUser['file']>, text: string): baileys.proto.IMessage {
  const directPath = `/v/t62.7119-24/${randomBytes(8).toString('hex')}.enc`;
  const { body, ...keys } = encrypted(data);
  server.files.set(directPath, body);
  const about = { directPath, fileName: name, caption: text, mimetype: 'application/octet-stream', fileLength: data.length };
  // A program may write any address there.
  return { documentMessage: { ...about, ...keys, url: 'https://127.0.0.1:1/elsewhere' } };
}

/** As a phone encrypts a document. */
function encrypted(data: Uint8Array) {
  const mediaKey = randomBytes(32);
  const derived = Buffer.from(hkdfSync('sha256', mediaKey, '', 'WhatsApp Document Keys', 112));
  const iv = derived.subarray(0, 16);
  const cipher = createCipheriv('aes-256-cbc', derived.subarray(16, 48), iv);
  const inner = Buffer.concat([cipher.update(data), cipher.final()]);
  const mac = createHmac('sha256', derived.subarray(48, 80)).update(iv).update(inner).digest().subarray(0, 10);
  const body = Buffer.concat([inner, mac]);
  const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
  return { body, mediaKey, fileEncSha256: sha256(body), fileSha256: sha256(data) };
}

function failureOf(failure: SendFailure): Failure {
  if (failure === 'busy') return { error: 503 };
  if (failure === 'cut') return { cut: 'before' };
  if (failure === 'refused') return { error: 403 };
  return { error: 429, backoff: failure.retryAfterSeconds };
}
