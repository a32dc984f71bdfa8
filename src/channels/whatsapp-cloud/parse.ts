import * as z from 'zod';
import { type Incoming, type IncomingFile, type Person, type Place, reactionPrefix } from '../../core/channel.ts';
import type { RecentMessage } from '../recent-messages.ts';
import { isHiddenPerson, isPhoneNumber } from './person-id.ts';

/** What Meta calls a message. */
const messageId = z.string().min(1).max(1000);

const file = z.object({
  id: z.string().regex(/^[\w-]{1,200}$/),
  mime_type: z.string().optional(),
  caption: z.string().optional(),
  filename: z.string().optional(),
  voice: z.boolean().optional(),
});

const choice = z.object({ id: z.string() });

const message = z.object({
  id: messageId,
  from: z.string().optional(),
  from_user_id: z.string().optional(),
  group_id: z.string().optional(),
  timestamp: z.string().regex(/^\d{1,11}$/),
  type: z.string(),
  context: z
    .object({
      id: messageId.optional(),
      forwarded: z.boolean().optional(),
      frequently_forwarded: z.boolean().optional(),
    })
    .optional(),
  text: z.object({ body: z.string() }).optional(),
  image: file.optional(),
  video: file.optional(),
  audio: file.optional(),
  document: file.optional(),
  sticker: file.optional(),
  interactive: z.object({ button_reply: choice.optional(), list_reply: choice.optional() }).optional(),
  button: z.object({ payload: z.string() }).optional(),
  reaction: z.object({ message_id: messageId, emoji: z.string().optional() }).optional(),
});

type Message = z.output<typeof message>;

/** What a delivery says beside its messages. */
export const surroundings = z.object({
  metadata: z.object({ phone_number_id: z.string(), display_phone_number: z.string().optional() }),
  contacts: z
    .array(
      z.object({
        wa_id: z.string().optional(),
        user_id: z.string().optional(),
        profile: z.object({ name: z.string().optional() }).optional(),
      }),
    )
    .optional()
    // Only names are lost.
    .catch(undefined),
});

export type Surroundings = z.output<typeof surroundings>;

/** What was said before in a chat. */
export type Recall = (chat: string, id: string) => RecentMessage | undefined;

/** undefined for what is no message of a person to us alone. Throws when it is not what Meta says it sends. */
export function parseMessage(content: unknown, around: Surroundings, recall: Recall): Incoming | undefined {
  const said = readAs(message, content);
  const author = said.from ?? said.from_user_id;
  // Security: what is said in a group is nothing that a person says to us alone.
  if (author === undefined || said.group_id !== undefined || author === digitsOf(around.metadata.display_phone_number)) return undefined;
  if (!isPhoneNumber(author) && !isHiddenPerson(author)) throw new Error('It is from nobody on WhatsApp.');
  const place = placeOf(author);
  const common = { id: said.id, place, from: personOf(author, said, around), at: new Date(Number(said.timestamp) * 1000) };
  const press = pressIn(said);
  if (press) return press.message === undefined ? undefined : { kind: 'press', ...common, data: press.data, message: press.message };
  const words = contentOf(said);
  if (!words || (words.text === '' && words.files.length === 0)) return undefined;
  const { id: replied, forwarded, frequently_forwarded: often } = said.context ?? {};
  const isForwarded = forwarded === true || often === true;
  return {
    kind: 'message',
    ...common,
    ...words,
    isDirect: true,
    isAddressed: true,
    // WhatsApp does not say who wrote it.
    ...(isForwarded && { forwarded: { from: '' } }),
    quoted: replied === undefined || isForwarded ? undefined : (recall(place.chat, replied) ?? { from: '', text: '' }),
  };
}

/** Throws with what is wrong, and nothing of what was said. */
export function readAs<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new Error(
    error.issues
      .map(({ path, message: why }) => `${path.join('.') || 'all of it'}: ${why}`)
      .join('; ')
      .slice(0, 500),
  );
}

/** A chat is called like the person in it. */
function placeOf(person: string): Place {
  return { platform: 'whatsapp_cloud', workspace: undefined, chat: person, thread: undefined };
}

/** In whose order a message is accepted, also one that cannot be read. */
export function chatIn(content: unknown): string {
  const { from, from_user_id: id } = (content ?? {}) as { from?: unknown; from_user_id?: unknown };
  return String(from ?? id ?? '').slice(0, 200);
}

function digitsOf(number: string | undefined): string | undefined {
  return number?.replace(/\D/g, '');
}

function personOf(id: string, { from, from_user_id: hidden }: Message, { contacts = [] }: Surroundings): Person {
  const isThem = (contact: (typeof contacts)[number]): boolean =>
    (from !== undefined && contact.wa_id === from) || (hidden !== undefined && contact.user_id === hidden);
  const found = contacts.find(isThem) ?? (contacts.length === 1 ? contacts[0] : undefined);
  return { id, name: found?.profile?.name || id };
}

/** A chosen answer, or a reaction. `message` is undefined when it takes a reaction back, or is on no message. */
function pressIn({ type, interactive, button, reaction, context }: Message): { data: string; message: string | undefined } | undefined {
  if (type === 'interactive') {
    const chosen = interactive?.button_reply ?? interactive?.list_reply;
    return { data: chosen?.id ?? '', message: chosen && context?.id };
  }
  if (type === 'button') return { data: button?.payload ?? '', message: button && context?.id };
  if (type === 'reaction')
    return { data: reactionPrefix + (reaction?.emoji ?? ''), message: reaction?.emoji ? reaction.message_id : undefined };
  return undefined;
}

function contentOf(said: Message): { text: string; files: IncomingFile[] } | undefined {
  if (said.type === 'text') return said.text && { text: said.text.body, files: [] };
  const [label, sent] = fileIn(said) ?? [];
  if (label === undefined || !sent) return undefined;
  const mimeType = sent.mime_type?.split(';')[0]?.trim().toLowerCase();
  const name = sent.filename || `${label}-${said.timestamp}.${extensions.get(mimeType ?? '') ?? 'bin'}`;
  return { text: sent.caption ?? '', files: [{ id: sent.id, name, mimeType, bytes: undefined }] };
}

/** With what to call it when it has no name. */
function fileIn({
  type,
  image,
  video,
  audio,
  document,
  sticker,
}: Message): [label: string, sent: z.output<typeof file> | undefined] | undefined {
  switch (type) {
    case 'image':
      return ['photo', image];
    case 'video':
      return ['video', video];
    case 'audio':
      return [audio?.voice ? 'voice' : 'audio', audio];
    case 'document':
      return ['file', document];
    case 'sticker':
      return ['sticker', sticker];
    default:
      return undefined;
  }
}

const extensions: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'jpg'],
  ['image/png', 'png'],
  ['image/webp', 'webp'],
  ['video/mp4', 'mp4'],
  ['video/3gpp', '3gp'],
  ['audio/aac', 'aac'],
  ['audio/amr', 'amr'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp4', 'm4a'],
  ['audio/ogg', 'ogg'],
  ['application/pdf', 'pdf'],
  ['text/plain', 'txt'],
]);
