import { HermeticError } from '../../core/errors.ts';
import { howToInstall, installedVersion } from '../../lib/optional-package.ts';
import { keepSessionsWhole } from './whole-sessions.ts';

/** The version that this channel was written for and tested with. It changes a lot from one to the next. */
export const baileysVersion = '7.0.0-rc14';

/** A stanza of WhatsApp's protocol. */
export interface WireNode {
  tag: string;
  attrs: Readonly<Record<string, string>>;
  content?: readonly WireNode[] | string | Uint8Array | undefined;
}

interface MessageKey {
  remoteJid?: string | null | undefined;
  remoteJidAlt?: string | null | undefined;
  participant?: string | null | undefined;
  participantAlt?: string | null | undefined;
  fromMe?: boolean | null | undefined;
  id?: string | null | undefined;
}

/** A decoded message. Its content was written by the sender's program and encrypted to ours: nobody checked it. */
export interface WireMessage {
  key: MessageKey;
  messageTimestamp?: unknown;
  pushName?: string | null | undefined;
  message?: unknown;
}

export interface Credentials {
  me?: { id: string; lid?: string | undefined; name?: string | undefined } | undefined;
  account?: unknown;
}

export interface KeyStore {
  get(type: string, ids: readonly string[]): Promise<Record<string, unknown>>;
  set(data: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Promise<void>;
}

/** The part that encrypts and decrypts. */
export interface SignalRepository {
  decryptMessage(what: { ciphertext: Uint8Array }): Promise<Uint8Array>;
  decryptGroupMessage(what: { msg: Uint8Array }): Promise<Uint8Array>;
}

export type MakeSignalRepository = (...parts: readonly unknown[]) => SignalRepository;

export interface ConnectionUpdate {
  connection?: 'open' | 'connecting' | 'close' | undefined;
  lastDisconnect?: { error?: unknown } | undefined;
  qr?: string | undefined;
}

export interface MediaConnection {
  hosts: readonly { hostname: string }[];
  auth: string;
}

/** What is used of a connection of Baileys. */
export interface BaileysSocket {
  readonly ev: {
    on(event: 'connection.update', listener: (update: ConnectionUpdate) => void): void;
    on(event: 'error' | 'creds.update' | 'groups.update' | 'group-participants.update', listener: () => void): void;
  };
  readonly ws: {
    on(event: string, listener: (node: WireNode) => void): unknown;
    prependListener(event: string, listener: (node: WireNode) => void): unknown;
    /** The socket below, whose end ends everything. */
    readonly socket?: { close(): void; terminate(): void } | null;
  };
  relayMessage(
    jid: string,
    message: object,
    options: { messageId: string; additionalAttributes?: Readonly<Record<string, string>> },
  ): Promise<unknown>;
  sendPresenceUpdate(type: 'composing', jid: string): Promise<void>;
  refreshMediaConn(isForced: boolean): Promise<MediaConnection>;
  requestPairingCode(phone: string): Promise<string>;
  groupMetadata(jid: string): Promise<unknown>;
}

/** What is used of the module. */
export interface Baileys {
  makeWASocket(config: object): BaileysSocket;
  initAuthCreds(): Credentials;
  decodeMessageNode(node: WireNode, me: string, lid: string): { fullMessage: WireMessage };
  cleanMessage(message: WireMessage, me: string, lid: string): void;
  unpadRandomMax16(bytes: Uint8Array): Uint8Array;
  getMediaKeys(key: Uint8Array, kind: string): Promise<{ iv: Uint8Array; cipherKey: Uint8Array; macKey: Uint8Array }>;
  readonly BufferJSON: {
    replacer(key: string, value: unknown): unknown;
    reviver(key: string, value: unknown): unknown;
  };
  readonly DEFAULT_CONNECTION_CONFIG: { makeSignalRepository: MakeSignalRepository };
  readonly proto: {
    Message: {
      decode(bytes: Uint8Array): { deviceSentMessage?: { message?: unknown } | null };
      AppStateSyncKeyData: { fromObject(value: object): unknown };
    };
  };
}

/**
 * Loads Baileys, which is installed by the user. Rejects when it is not there, or is another version, which is then not loaded. `installed` is what is
 * there.
 */
export async function loadBaileys(installed: () => Promise<string | undefined> = () => installedVersion('baileys')): Promise<Baileys> {
  const version = await installed();
  if (version !== baileysVersion) {
    const why = version === undefined ? 'which is not installed' : 'and another version of it is installed';
    throw new HermeticError('channel/unusable', `WhatsApp needs Baileys ${baileysVersion}, ${why}.`, {
      hint: howToInstall({ name: 'baileys', version: baileysVersion }),
    });
  }
  // The name is no literal, so that this compiles where Baileys is not installed.
  const name = 'baileys';
  const baileys = (await import(name)) as Baileys;
  await keepSessionsWhole();
  return baileys;
}
