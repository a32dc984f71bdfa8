import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { HermeticError } from '../../core/errors.ts';

/** The encryption of one conversation. */
interface Session {
  serialize(): object;
  constructor: { deserialize(kept: object): Session };
}

type Decrypt = (this: unknown, message: Uint8Array, session: Session) => Promise<Uint8Array>;

/** What is used of libsignal, the library below Baileys. */
interface LibSignal {
  SessionCipher: { prototype: { doDecryptWhisperMessage?: Decrypt } };
}

const mended = new WeakSet<object>();

/**
 * libsignal tries all sessions with a person until one decrypts the message. A try that fails has changed its session, which is then kept with the
 * one that succeeded. So the session that we began last was broken when a message of theirs crossed our first one, and they could read nothing of
 * ours afterwards. Here a try that fails changes nothing.
 */
export async function keepSessionsWhole(): Promise<void> {
  const path = createRequire(import.meta.resolve('baileys')).resolve('libsignal');
  // Imported as Baileys does it: with `require` it may be another copy.
  const { default: libsignal } = (await import(pathToFileURL(path).href)) as { default: LibSignal };
  const { prototype } = libsignal.SessionCipher;
  if (mended.has(prototype)) return;
  const { doDecryptWhisperMessage: decrypt } = prototype;
  if (!decrypt) throw new HermeticError('channel/unusable', 'WhatsApp cannot be used with the version of libsignal that is installed.');
  mended.add(prototype);
  prototype.doDecryptWhisperMessage = async function (message, session) {
    const before = session.serialize();
    try {
      return await decrypt.call(this, message, session);
    } catch (error) {
      Object.assign(session, session.constructor.deserialize(before));
      throw error;
    }
  };
}
