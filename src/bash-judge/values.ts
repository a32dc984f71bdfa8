/**
 * A text as far as it is known before the command runs. One of these characters stands for each unknown part. They are from the private use
 * area; a command that holds one itself is not judged.
 */
/** Anything, and outside quotes: perhaps several words. */
export const unknown = '\uE000';
/** Anything, but one word. */
const unknownWord = '\uE001';
/** A number, a name, a date: neither an option nor a path nor empty. */
export const plainToken = '\uE002';
/** A path below the one before it: it leads neither up nor elsewhere. */
export const below = '\uE003';
/** The answer of another machine: anything. */
export const fetched = '\uE004';
/** Behind one that is unknown: it is out of an archive. */
export const unpacked = '\uE008';
/** The path of a new temporary file or directory. */
export const temporary = '\uE005';
/** The number of a process that the command started. */
export const ownProcess = '\uE006';
/** Part of the name of what a process substitution prints. */
export const stream = '\uE007';
/** Between the elements of a list inside quotes. */
export const fieldBreak = '\uE00F';

export const placeholders = /[\uE000-\uE00F]/;

/** Whether an unknown part could make it harmful. */
export function isUnknown(text: string): boolean {
  return text.includes(unknown) || text.includes(unknownWord) || text.includes(fetched);
}

export function hasPlaceholder(text: string): boolean {
  return placeholders.test(text);
}

/** Why code that is not known is asked about. */
export function unseenRule(code: string): 'network/pipe-to-interpreter' | 'code/unseen' {
  return code.includes(fetched) ? 'network/pipe-to-interpreter' : 'code/unseen';
}

/** Quotes keep an unknown text together. */
export function inQuotes(text: string): string {
  return text.replaceAll(unknown, unknownWord);
}

export function outsideQuotes(text: string): string {
  return text.replaceAll(unknownWord, unknown);
}

/** The result of an unknown change to a text. */
export function transformed(text: string): string {
  return text.includes(plainToken) && /^[\w\uE002]+$/.test(text) ? plainToken : unknown;
}

export const maxChoices = 64;

/** Every combination of one of each, or undefined when there are too many to look at, or none. */
export function combinations<T>(lists: readonly (readonly T[])[]): T[][] | undefined {
  let combined: T[][] = [[]];
  for (const list of lists) {
    // Security: of nothing, nothing would be judged.
    if (list.length === 0 || combined.length * list.length > maxChoices) return undefined;
    if (list.length === 1) for (const one of combined) one.push(list[0] as T);
    else combined = combined.flatMap((one) => list.map((item) => [...one, item]));
  }
  return combined;
}

/** Where arithmetic and conditions take a text for the name of an array, they run what stands in its index. */
export const runningIndex = /\w\[[\s\S]*(?:\$\(|\$\{|`)/;
