import { safeFileName } from '../file-name.ts';

export interface ContextInfo {
  stanzaId?: unknown;
  participant?: unknown;
  quotedMessage?: unknown;
  mentionedJid?: unknown;
  isForwarded?: unknown;
}

/** How a reaction names the message it is to: `fromMe` as seen from our account. */
export interface MessageRef {
  id?: unknown;
  fromMe?: unknown;
  participant?: unknown;
}

interface Media {
  directPath?: unknown;
  mediaKey?: unknown;
  fileEncSha256?: unknown;
  fileSha256?: unknown;
  fileLength?: unknown;
  mimetype?: unknown;
  fileName?: unknown;
  caption?: unknown;
  ptt?: unknown;
  contextInfo?: ContextInfo | null;
}

/** What is read of a message. Every part of it may be anything. */
export interface Content {
  conversation?: unknown;
  extendedTextMessage?: { text?: unknown; contextInfo?: ContextInfo | null } | null;
  imageMessage?: Media | null;
  videoMessage?: Media | null;
  ptvMessage?: Media | null;
  audioMessage?: Media | null;
  documentMessage?: Media | null;
  stickerMessage?: Media | null;
  reactionMessage?: { key?: MessageRef | null; text?: unknown } | null;
}

/** A file in a message. */
export interface MediaPart {
  /** What its keys are derived for. */
  kind: MediaKind;
  media: Media;
  name: string;
  mimeType: string | undefined;
  bytes: number | undefined;
}

export const mediaKinds = ['image', 'video', 'audio', 'document', 'sticker'] as const;
export type MediaKind = (typeof mediaKinds)[number];

const wrappers = [
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'viewOnceMessageV2Extension',
  'documentWithCaptionMessage',
  'associatedChildMessage',
  'groupMentionedMessage',
  'lottieStickerMessage',
] as const;

/** The message itself, out of what WhatsApp wraps it in. */
export function contentOf(message: unknown): Content | undefined {
  let content = message;
  for (let depth = 0; depth < 6; depth += 1) {
    if (typeof content !== 'object' || content === null) return undefined;
    const wrapped = wrappers.map((name) => (content as Record<string, { message?: unknown } | null | undefined>)[name]).find(Boolean);
    if (!wrapped) return content as Content;
    content = wrapped.message;
  }
  return undefined;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

export function textOf(content: Content): string {
  const part = fileOf(content);
  return part ? text(part.media.caption) : text(content.conversation) || text(content.extendedTextMessage?.text);
}

/** The name of a file whose sender gave it none. */
const endings: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'video/mp4': 'mp4',
  'audio/ogg': 'ogg',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'application/pdf': 'pdf',
};

export function fileOf(content: Content): MediaPart | undefined {
  const kinds: readonly (readonly [MediaKind, string, Media | null | undefined])[] = [
    ['image', 'picture', content.imageMessage],
    ['video', 'video', content.videoMessage ?? content.ptvMessage],
    ['audio', content.audioMessage?.ptt === true ? 'voice' : 'audio', content.audioMessage],
    ['document', 'file', content.documentMessage],
    ['sticker', 'sticker', content.stickerMessage],
  ];
  for (const [kind, called, media] of kinds) {
    if (typeof media !== 'object' || media === null) continue;
    const mimeType = /^[\w.+-]{1,60}\/[\w.+-]{1,100}/.exec(text(media.mimetype))?.[0];
    const ending = endings[mimeType ?? ''];
    const name = text(media.fileName) === '' ? called + (ending === undefined ? '' : `.${ending}`) : safeFileName(text(media.fileName));
    const bytes = media.fileLength === undefined || media.fileLength === null ? undefined : Number(media.fileLength);
    return { kind, media, name, mimeType, bytes: Number.isSafeInteger(bytes) && Number(bytes) >= 0 ? bytes : undefined };
  }
  return undefined;
}
