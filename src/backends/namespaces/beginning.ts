import type { Readable } from 'node:stream';

/** Keeps the beginning of a stream until `stop`. From then on the stream is unread. */
export function beginningOf(stream: Readable): { text(): string; stop(): void } {
  let text = '';
  const add = (data: Buffer): void => {
    if (text.length < 16_384) text += data.toString();
  };
  stream.on('data', add);
  return {
    text: () => text,
    stop: () => {
      stream.pause();
      stream.off('data', add);
    },
  };
}
