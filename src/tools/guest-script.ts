import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const guestDirectory = fileURLToPath(new URL('../../guest/', import.meta.url));
const loaded = new Map<string, Promise<string>>();

/** Bash source for inside a sandbox, made of files of `guest/`. Read once. */
export function guestScript(...parts: readonly string[]): Promise<string> {
  const key = parts.join(' ');
  const known = loaded.get(key) ?? read(parts);
  loaded.set(key, known);
  return known;
}

async function read(parts: readonly string[]): Promise<string> {
  const texts = await Promise.all(parts.map((part) => readFile(`${guestDirectory}${part}.bash`, 'utf8')));
  return texts.join('').replace(/^ *(?:#.*)?\n/gm, '');
}
