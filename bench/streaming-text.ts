/** How an answer is streamed. */
export interface Pace {
  seconds: number;
  everyMs: number;
}

const pieceLength = 12;

export function pieceCount({ seconds, everyMs }: Pace): number {
  return Math.floor((seconds * 1000) / everyMs);
}

/** One piece of the answer in a chat: a word that is nowhere else. */
export function pieceOf(chat: number, index: number): string {
  return `${`c${chat}p${index}`.padEnd(pieceLength - 1, 'x')} `;
}

/** The whole answer, without its spaces: where it comes in more than one message, one is missing. */
export function wholeText(chat: number, pace: Pace): string {
  return withoutSpaces(Array.from({ length: pieceCount(pace) }, (_, index) => pieceOf(chat, index)).join(''));
}

export function withoutSpaces(text: string): string {
  return text.replaceAll(/\s/g, '');
}
