import { createDecipheriv, hkdfSync } from 'node:crypto';
import type { proto } from 'baileys';
import type { Shown } from '../../contracts/channel-harness.ts';
import { shownText } from '../whatsapp-shown-text.ts';
import type { FakeWhatsApp } from './server.ts';

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };
export type ShownMessage = Shown;

const edit = 14;
const revoke = 0;

/** What a phone shows of the bot's messages in a chat. `names`: the ids by which those who wrote it know what is replied to. */
export function shownIn(server: FakeWhatsApp, chat: string, names: ReadonlyMap<string, string> = new Map()): readonly ShownMessage[] {
  const shown: (Mutable<Shown> & { versions: string[] })[] = [];
  const user = chat.replace('lid:', '').split('@')[0];
  for (const { id, to, message } of server.sent) {
    if (to.split('@')[0] !== user) continue;
    const protocol = message.protocolMessage;
    const index = shown.findIndex((one) => one.id === protocol?.key?.id);
    const changed = shown[index];
    if (protocol?.type === edit && changed) {
      const text = textOf(protocol.editedMessage ?? {});
      changed.text = text;
      if (changed.versions.at(-1) !== text) changed.versions.push(text);
    } else if (protocol?.type === revoke) {
      if (changed) shown.splice(index, 1);
    } else if (!protocol) {
      const context = (message.documentMessage ?? message.imageMessage ?? message.extendedTextMessage)?.contextInfo;
      const replied = context?.stanzaId ?? undefined;
      const text = textOf(message);
      const replyTo = replied === undefined ? undefined : (names.get(replied) ?? replied);
      shown.push({ id, text, versions: [text], buttons: [], replyTo, file: fileOf(server, message) });
    }
  }
  return shown;
}

function textOf(message: proto.IMessage): string {
  const { conversation, extendedTextMessage: text, imageMessage: image, documentMessage: document } = message;
  return shownText(conversation ?? text?.text ?? image?.caption ?? document?.caption ?? '');
}

function fileOf(server: FakeWhatsApp, { imageMessage: image, documentMessage: document }: proto.IMessage): Shown['file'] {
  const media = image ?? document;
  if (!media?.mediaKey) return undefined;
  const body = server.files.get(media.directPath ?? '') ?? Buffer.alloc(0);
  const derived = Buffer.from(hkdfSync('sha256', media.mediaKey, '', image ? 'WhatsApp Image Keys' : 'WhatsApp Document Keys', 112));
  const decipher = createDecipheriv('aes-256-cbc', derived.subarray(16, 48), derived.subarray(0, 16));
  const data = Buffer.concat([decipher.update(body.subarray(0, -10)), decipher.final()]);
  return { name: document?.fileName ?? 'picture', data };
}
