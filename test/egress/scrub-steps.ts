/** What a host does: it sends bytes, or is silent for a while. */
export type Step = Buffer | 'silence';

export interface Scrubbing {
  push(piece: Buffer): Buffer;
  pause(): Buffer;
  end(): Buffer;
}

/** What reaches the sandbox after each step, and at the end. */
export function passedAfter(scrubbing: Scrubbing, steps: readonly Step[]): Buffer[] {
  const passed = steps.map((step) => Buffer.from(step === 'silence' ? scrubbing.pause() : scrubbing.push(step)));
  return [...passed, Buffer.from(scrubbing.end())];
}

/** Bytes in pieces, cut at the places that are within them, with a silence after some of the pieces. */
export function stepsOf(bytes: Buffer, cuts: readonly (readonly [place: number, isSilent: boolean])[]): Step[] {
  const places = cuts.filter(([place]) => place <= bytes.length).sort(([a], [b]) => a - b);
  const begins = [0, ...places.map(([place]) => place)];
  return begins.flatMap((begin, index) => {
    const piece = bytes.subarray(begin, places[index]?.[0]);
    return places[index]?.[1] ? [piece, 'silence' as const] : [piece];
  });
}

const codes = (value: string): number[] => [...value].map((letter) => letter.charCodeAt(0));
const percent = (letter: string): string => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
const html: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** How hosts write a value: what stands for each of its characters. */
export const spellings: Readonly<Record<string, (value: string) => string[]>> = {
  plain: (value) => [...value],
  JSON: (value) => [...value].map((letter) => JSON.stringify(letter).slice(1, -1)),
  'JSON with escaped slashes': (value) => [...value].map((letter) => (letter === '/' ? '\\/' : JSON.stringify(letter).slice(1, -1))),
  'JSON with escaped punctuation': (value) =>
    [...value].map((letter) => (/\w/.test(letter) ? letter : `\\u00${letter.charCodeAt(0).toString(16).toUpperCase()}`)),
  'JSON of nothing but escapes': (value) => codes(value).map((code) => `\\u${code.toString(16).padStart(4, '0')}`),
  'a string of Python': (value) => codes(value).map((code) => `\\x${code.toString(16)}`),
  'a URL': (value) => [...value].map(encodeURIComponent),
  'a URL in small letters': (value) => [...value].map((letter) => (/[\w-]/.test(letter) ? letter : percent(letter).toLowerCase())),
  'a URL that keeps slashes': (value) => [...value].map((letter) => (/[\w/-]/.test(letter) ? letter : percent(letter))),
  'a URL of nothing but escapes': (value) => [...value].map(percent),
  HTML: (value) => [...value].map((letter) => html[letter] ?? letter),
  'HTML as numbers': (value) => codes(value).map((code) => `&#${code};`),
  'HTML as hexadecimal numbers': (value) => codes(value).map((code) => `&#x${code.toString(16)};`),
  'UTF-16': (value) => [...value].map((letter) => `${letter}\0`),
  hexadecimal: (value) => codes(value).map((code) => code.toString(16)),
  'upper-case hexadecimal': (value) => codes(value).map((code) => code.toString(16).toUpperCase()),
  'hexadecimal with colons': (value) => codes(value).map((code) => `${code.toString(16)}:`),
};
