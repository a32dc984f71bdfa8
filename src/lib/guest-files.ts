import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const directory = new URL('../../guest/', import.meta.url);
const hostDirectory = new URL('../../host-scripts/', import.meta.url);
const texts = new Map<string, string>();

/** Where a file of `guest/` lies on the host. */
export function guestPath(name: string): string {
  return fileURLToPath(new URL(name, directory));
}

/** The text of a file of `guest/`, which has what runs inside sandboxes. */
export function guestFile(name: string): Promise<string> {
  return textOf(new URL(name, directory));
}

/** Bash source made of files of `guest/`, without comments. */
export async function guestBash(...parts: readonly string[]): Promise<string> {
  const sources = await Promise.all(parts.map((part) => guestFile(`${part}.bash`)));
  return withoutComments(sources.join(''));
}

/** Bash source of a file of `host-scripts/`, which runs outside sandboxes, without comments. */
export async function hostBash(name: string): Promise<string> {
  return withoutComments(await textOf(new URL(`${name}.bash`, hostDirectory)));
}

/** Read once. */
async function textOf(file: URL): Promise<string> {
  const text = texts.get(file.href) ?? (await readFile(file, 'utf8'));
  texts.set(file.href, text);
  return text;
}

function withoutComments(source: string): string {
  return source.replace(/^ *(?:#.*)?\n/gm, '');
}
