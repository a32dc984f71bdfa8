import { business, type FakeFile, type SentMessage, type WhatsAppWorld } from './world.ts';

/** What Meta says when it does not do what it was asked to do. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface Call {
  world: WhatsAppWorld;
  root: string;
  body: Record<string, unknown>;
  file: FakeFile | undefined;
}

const uploadTypes = ['text/plain', 'application/pdf', 'image/jpeg', 'image/png', 'image/webp', 'video/mp4', 'audio/mpeg', 'audio/ogg'];

function wrong(about: string): never {
  throw new Refusal(400, 100, `(#100) ${about}`);
}

export function number(): unknown {
  return { display_phone_number: business.number, verified_name: business.name, id: business.id };
}

export function upload({ world, body, file }: Call): unknown {
  if (body.messaging_product !== 'whatsapp' || !file) wrong('Param file is required');
  if (!uploadTypes.includes(file.type) || body.type !== file.type) wrong(`Received file of type '${file.type}'.`);
  return { id: world.keep(file) };
}

export function media({ world, root }: Call, id: string): unknown {
  const found = world.files.get(id);
  if (!found) wrong(`Object with ID '${id}' does not exist`);
  return { url: `${root}/files/${id}`, mime_type: found.type, file_size: found.data.length, id, messaging_product: 'whatsapp' };
}

/** Messages, and that a message was read. */
export function messages({ world, body }: Call): unknown {
  if (body.messaging_product !== 'whatsapp') wrong('messaging_product is required');
  if (body.status === 'read') return read(world, body);
  const to = String(body.to ?? body.recipient ?? '');
  if (!/^\d+$/.test(to) === 'to' in body) wrong('to is a number, recipient is not');
  const replyTo = (body.context as { message_id?: string } | undefined)?.message_id;
  const isKnown = (id: string): boolean => world.received.has(id) || world.sent.some((one) => one.id === id);
  if (replyTo !== undefined && !isKnown(replyTo)) throw new Refusal(400, 131_009, '(#131009) Parameter value is not valid');
  const message: SentMessage = { id: world.nextId(), to, body, text: '', buttons: [], replyTo, file: undefined, ...contentOf(world, body) };
  world.sent.push(message);
  return { messaging_product: 'whatsapp', contacts: [{ input: to, wa_id: to }], messages: [{ id: message.id }] };
}

function read(world: WhatsAppWorld, { message_id: id, typing_indicator: typing }: Record<string, unknown>): unknown {
  const chat = world.received.get(String(id));
  if (chat === undefined) throw new Refusal(400, 131_009, '(#131009) Parameter value is not valid');
  if (typing) world.typing.push(chat);
  return { success: true };
}

function contentOf(world: WhatsAppWorld, body: Record<string, unknown>): Partial<SentMessage> {
  switch (body.type) {
    case 'text': {
      const { body: text, preview_url: preview } = body.text as { body: string; preview_url: boolean };
      // Not a rule of Meta, but one of ours.
      if (preview !== false) wrong('An address could be fetched.');
      return { text: words(text, 4096) };
    }
    case 'interactive':
      return interactive(body.interactive as Interactive);
    case 'image':
    case 'document': {
      const { id, caption = '', filename } = body[body.type] as { id: string; caption?: string; filename?: string };
      const file = world.files.get(id) ?? wrong('no such media');
      if (body.type === 'image' && (!/^image\/(jpeg|png)$/.test(file.type) || file.data.length > 5 * 1024 * 1024)) wrong('no such image');
      if (caption.length > 1024) wrong('caption is too long');
      return { text: caption, file: { ...file, name: filename ?? file.name } };
    }
    default:
      return wrong('type is not one of those');
  }
}

interface Interactive {
  type: string;
  body: { text: string };
  action: {
    button?: string;
    buttons?: { type: string; reply: { id: string; title: string } }[];
    sections?: { title: string; rows: { id: string; title: string }[] }[];
  };
}

function interactive({ type, body, action }: Interactive): Partial<SentMessage> {
  const isList = type === 'list';
  const choices = isList ? (action.sections ?? []).flatMap(({ rows }) => rows) : (action.buttons ?? []).map(({ reply }) => reply);
  if (!isList && type !== 'button') wrong('type is not one of those');
  if (choices.length === 0 || choices.length > (isList ? 10 : 3)) wrong('Invalid number of answers');
  if (isList && (action.button ?? '').length > 20) wrong('button is too long');
  for (const { id, title } of choices) {
    if (title.trim() === '' || title.length > (isList ? 24 : 20)) wrong('title is too long');
    if (id === '' || id.trim() !== id || id.length > (isList ? 200 : 256)) wrong('id is too long');
  }
  return { text: words(body.text, isList ? 4096 : 1024), buttons: choices.map(({ id, title }) => ({ label: title, data: id })) };
}

function words(text: string, max: number): string {
  if (text.trim() === '') wrong('body is empty');
  if (text.length > max) wrong('body is too long');
  if (!text.isWellFormed()) wrong('body is not UTF-8');
  return text;
}
