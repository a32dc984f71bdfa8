import {
  type AuthenticationCreds,
  addTransactionCapability,
  type BinaryNode,
  DEFAULT_CONNECTION_CONFIG,
  encodeBigEndian,
  encodeWAMessage,
  generateSignalPubKey,
  initAuthCreds,
  KEY_BUNDLE_TYPE,
  proto,
  type SignalDataTypeMap,
  type SignalKeyStore,
  unpadRandomMax16,
  xmppSignedPreKey,
} from 'baileys';
import { quietly, silentLogger } from '../../../src/channels/whatsapp/quiet.ts';
import { keepSessionsWhole } from '../../../src/channels/whatsapp/whole-sessions.ts';

// Phones have no such defect.
await keepSessionsWhole();

export type Ciphertext = { type: 'pkmsg' | 'msg' | 'skmsg'; content: Uint8Array };

/** The public keys of a device. */
export interface Bundle {
  registrationId: number;
  identity: Uint8Array;
  signedPreKey: { keyId: number; publicKey: Uint8Array; signature: Uint8Array };
}

/** Somebody with a phone, whose program encrypts as WhatsApp's does. */
export class FakePerson {
  readonly phone: string;
  readonly lid: string;
  readonly name: string;
  readonly creds: AuthenticationCreds = initAuthCreds();
  #repository = this.#newRepository();
  /** Groups whose key the bot has from us. */
  readonly #shared = new Set<string>();

  constructor(phone: string, lid: string, name: string) {
    this.phone = phone;
    this.lid = lid;
    this.name = name;
  }

  forgetSessions(): void {
    this.#repository = this.#newRepository();
    this.#shared.clear();
  }

  #newRepository() {
    const logger = silentLogger as never;
    const keys = addTransactionCapability(memoryKeys(), logger, { maxCommitRetries: 1, delayBetweenTriesMs: 1 });
    return DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds: this.creds, keys }, logger, async () => []);
  }

  get jid(): string {
    return `${this.phone}@s.whatsapp.net`;
  }

  get lidJid(): string {
    return `${this.lid}@lid`;
  }

  /** What WhatsApp gives to those who write to this person first. */
  bundleNode(jid: string): BinaryNode {
    const { registrationId, signedIdentityKey, signedPreKey } = this.creds;
    return {
      tag: 'user',
      attrs: { jid },
      content: [
        { tag: 'registration', attrs: {}, content: encodeBigEndian(registrationId) },
        { tag: 'type', attrs: {}, content: KEY_BUNDLE_TYPE },
        { tag: 'identity', attrs: {}, content: signedIdentityKey.public },
        xmppSignedPreKey(signedPreKey),
      ],
    };
  }

  /** To one device. */
  async encrypt(to: string, bundle: Bundle, message: proto.IMessage): Promise<Ciphertext> {
    return await quietly(async () => {
      if (!(await this.#repository.validateSession(to)).exists) {
        const { registrationId, identity, signedPreKey } = bundle;
        const session = {
          registrationId,
          identityKey: generateSignalPubKey(identity),
          signedPreKey: { ...signedPreKey, publicKey: generateSignalPubKey(signedPreKey.publicKey) },
        };
        await this.#repository.injectE2ESession({ jid: to, session: session as never });
      }
      const { type, ciphertext } = await this.#repository.encryptMessage({ jid: to, data: encodeWAMessage(message) });
      return { type, content: ciphertext };
    });
  }

  /** To a group: for a device that has not got it yet, the key comes first. */
  async encryptForGroup(group: string, to: string, bundle: Bundle, message: proto.IMessage): Promise<Ciphertext[]> {
    return await quietly(async () => {
      const data = encodeWAMessage(message);
      const { ciphertext, senderKeyDistributionMessage: key } = await this.#repository.encryptGroupMessage({
        group,
        meId: this.lidJid,
        data,
      });
      const skmsg: Ciphertext = { type: 'skmsg', content: ciphertext };
      if (this.#shared.has(group)) return [skmsg];
      this.#shared.add(group);
      const distribution = { senderKeyDistributionMessage: { groupId: group, axolotlSenderKeyDistributionMessage: key } };
      return [await this.encrypt(to, bundle, distribution), skmsg];
    });
  }

  async decrypt(from: string, type: string, content: Uint8Array): Promise<proto.Message> {
    return await quietly(async () => {
      const plain = await this.#repository.decryptMessage({ jid: from, type: type as 'msg', ciphertext: content });
      const message = proto.Message.decode(unpadRandomMax16(plain));
      const distribution = message.senderKeyDistributionMessage;
      if (distribution) await this.#repository.processSenderKeyDistributionMessage({ item: distribution, authorJid: from });
      return message;
    });
  }

  async decryptFromGroup(group: string, author: string, content: Uint8Array): Promise<proto.Message> {
    const plain = await quietly(() => this.#repository.decryptGroupMessage({ group, authorJid: author, msg: content }));
    return proto.Message.decode(unpadRandomMax16(plain));
  }
}

function memoryKeys(): SignalKeyStore {
  const kept = new Map<string, unknown>();
  return {
    get: async <Type extends keyof SignalDataTypeMap>(type: Type, ids: string[]) =>
      Object.fromEntries(ids.filter((id) => kept.has(`${type}:${id}`)).map((id) => [id, kept.get(`${type}:${id}`)])) as {
        [id: string]: SignalDataTypeMap[Type];
      },
    set: async (data) => {
      for (const [type, values] of Object.entries(data)) {
        for (const [id, value] of Object.entries(values ?? {})) {
          if (value === null) kept.delete(`${type}:${id}`);
          else kept.set(`${type}:${id}`, value);
        }
      }
    },
  };
}
