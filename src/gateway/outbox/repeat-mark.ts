import type { ChannelTraits, Outgoing } from '../../core/channel.ts';

/** Stands before a message that may be in the chat already. */
const mark = '(possible repeat)';

/** The longest text and caption that leave room for the mark. */
export function maxMarkableText({
  maxTextLength,
  maxCaptionLength = maxTextLength,
}: Pick<ChannelTraits, 'maxTextLength' | 'maxCaptionLength'>) {
  const room = (limit: number): number => Math.max(2, limit - mark.length - 2);
  return { text: room(maxTextLength), caption: room(maxCaptionLength) };
}

/** A text that leaves no room, which only an earlier version stored, is sent as it is rather than refused by the platform. */
export function markedAsRepeat({ text, file }: Outgoing, { maxTextLength, maxCaptionLength = maxTextLength }: ChannelTraits): string {
  const marked = text.trim() === '' ? mark : `${mark}\n\n${text}`;
  return marked.length <= (file ? maxCaptionLength : maxTextLength) ? marked : text;
}
