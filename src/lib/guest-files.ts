import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const directory = new URL('../../guest/', import.meta.url);
const texts = new Map<string, string>();

/** Where a file of `guest/` lies on the host. */
export function guestPath(name: string): string {
  return fileURLToPath(new URL(name, directory));
}

/** The text of a file of `guest/`. Read once. */
export async function guestFile(name: string): Promise<string> {
  const text = texts.get(name) ?? (await readFile(new URL(name, directory), 'utf8'));
  texts.set(name, text);
  return text;
}

/** Bash source made of files of `guest/`, without comments. */
export async function guestBash(...parts: readonly string[]): Promise<string> {
  const sources = await Promise.all(parts.map((part) => guestFile(`${part}.bash`)));
  return sources.join('').replace(/^ *(?:#.*)?\n/gm, '');
}
