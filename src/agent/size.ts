import { beginningAndEnd } from '../lib/head-tail.ts';
import type { Message } from './messages.ts';

const bytesPerToken = 3.5;
const tokensPerImage = 1500;
/** Bytes for the role of a message. */
const aroundWords = 60;
const sizes = new WeakMap<object, number>();

/** About how many tokens a text takes. Bytes tell more than characters: scripts with many signs take more of both. */
export function tokensOfText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

/** About how many tokens it takes. Messages are never changed, so each is counted once. */
export function tokensOf(message: Message): number {
  const known = sizes.get(message);
  if (known !== undefined) return known;
  let images = 0;
  const withoutImages = (_key: string, value: unknown): unknown => {
    if (!isImage(value)) return value;
    images++;
    return undefined;
  };
  const words = wordsOf(message);
  // Looking at every value takes ten times as long, and most messages are words.
  const bytes = words !== undefined ? aroundWords + Buffer.byteLength(words) : Buffer.byteLength(JSON.stringify(message, withoutImages));
  const size = Math.ceil(bytes / bytesPerToken) + images * tokensPerImage;
  sizes.set(message, size);
  return size;
}

/** The text of a message that consists of text alone. */
function wordsOf({ content }: Message): string | undefined {
  if (typeof content === 'string') return content;
  const [first, ...others] = content;
  return first?.type === 'text' && others.length === 0 ? first.text : undefined;
}

function isImage(value: unknown): boolean {
  const { type } = (value ?? {}) as { type?: unknown };
  return type === 'file' || type === 'image';
}

export function tokensOfAll(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/** A mark of `fence` with at most two names in it, after the line that tells the day. */
const openingMarks = /^(?:Today is [^\n<]{1,120}\n)?(?:<[a-z]+-[0-9a-f]{8}[^\n]{0,1200}>\n){1,2}/;
const closingMarks = /(?:\n<\/[a-z]+-[0-9a-f]{8}>){1,2}$/;

/** Security: the same within the marks around a text. Without them what is left would not say who wrote it. */
export function shortenedInside(text: string, max: number): string {
  const opening = openingMarks.exec(text)?.[0] ?? '';
  const closing = closingMarks.exec(text.slice(opening.length))?.[0] ?? '';
  return opening + beginningAndEnd(text.slice(opening.length, text.length - closing.length), max) + closing;
}
