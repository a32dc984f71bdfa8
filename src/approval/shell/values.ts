/**
 * What is known of a text before it exists. Where a part is not known, one of these characters stands for it. They are from the private use area:
 * a command that holds one itself only looks less known than it is.
 */
/** Anything, and outside quotes: perhaps several words. */
export const unknown = '\uE000';
/** Anything, but one word. */
export const unknownWord = '\uE001';
/** Anything that somebody else's machine answers. */
export const fromNetwork = '\uE002';
/** A number, a name, a date: neither an option nor a path nor empty. */
export const plainToken = '\uE003';
/** An argument of a function that nobody called yet. */
export const parameter = '\uE004';
/** Between the elements of a list inside quotes. */
export const fieldBreak = '\uE00F';

const anyUnknown = /[\uE000-\uE002\uE004]/;
const anyPlaceholder = /[\uE000-\uE00F]/;

/** Whether it could be something harmful that nobody sees. */
export function isUnknown(text: string): boolean {
  return anyUnknown.test(text);
}

/** Whether it is unknown, and not only because nobody called the function it is in. */
export function isUnseen(text: string): boolean {
  return /[\uE000-\uE002]/.test(text);
}

/** What comes before the first part that is unknown. */
export function knownStart(text: string): string {
  return text.slice(0, text.search(anyUnknown));
}

export function hasPlaceholder(text: string): boolean {
  return anyPlaceholder.test(text);
}

/** Whether there is nothing in it to look at. */
export function isWhollyUnknown(text: string): boolean {
  return isUnknown(text) && /^[\s\uE000-\uE004]*$/.test(text);
}

export function isFromNetwork(text: string): boolean {
  return text.includes(fromNetwork);
}

/** Quotes keep an unknown text together. */
export function inQuotes(text: string): string {
  return text.replaceAll(unknown, unknownWord);
}

export function outsideQuotes(text: string): string {
  return text.replaceAll(unknownWord, unknown);
}

/** What comes out when something unknown is done to a text. */
export function transformed(text: string): string {
  if (text.includes(fromNetwork)) return fromNetwork;
  if (text.includes(parameter)) return parameter;
  return isUnknown(text) || !text.includes(plainToken) ? unknown : plainToken;
}

export const mostChoices = 64;

/** Every combination of one of each, or undefined when there are too many to look at. */
export function combinations<T>(lists: readonly (readonly T[])[], most = mostChoices): T[][] | undefined {
  let combined: T[][] = [[]];
  for (const list of lists) {
    if (combined.length * list.length > most) return undefined;
    if (list.length === 1) for (const one of combined) one.push(list[0] as T);
    else combined = combined.flatMap((one) => list.map((item) => [...one, item]));
  }
  return combined;
}

/** Texts one after the other, whichever each of them is. */
export function joined(first: readonly string[], second: readonly string[]): readonly string[] {
  if (second.length === 1 && second[0] === '') return first;
  if (first.length === 1 && first[0] === '') return second;
  if (first.length * second.length > 8) return [[...first, ...second].some(isFromNetwork) ? fromNetwork : unknown];
  return first.flatMap((one) => second.map((other) => one + other));
}

/** Where arithmetic and conditions take a text for the name of an array, they run what stands in its index. */
export const runningIndex = /\w\[[^[]*(?:\$\(|`)/;
