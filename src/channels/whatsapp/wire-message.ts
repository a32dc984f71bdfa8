import type { Self } from './account.ts';
import type { Baileys, WireMessage } from './baileys.ts';
import type { Arrival } from './encryption.ts';

type Decoder = Pick<Baileys, 'decodeMessageNode' | 'cleanMessage' | 'unpadRandomMax16' | 'proto'>;

/** As Baileys makes it. Throws when it is malformed. */
export function wireMessageOf({ attrs, plain }: Arrival, { jid, lidJid }: Self, baileys: Decoder): WireMessage {
  const { fullMessage } = baileys.decodeMessageNode({ tag: 'message', attrs }, jid, lidJid);
  const parts = plain.map((bytes) => {
    const message = baileys.proto.Message.decode(baileys.unpadRandomMax16(bytes));
    return message.deviceSentMessage?.message ?? message;
  });
  const message = { ...fullMessage, message: Object.assign({}, ...parts) as unknown };
  baileys.cleanMessage(message, jid, lidJid);
  return message;
}
