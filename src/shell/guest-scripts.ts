import { createHash } from 'node:crypto';
import { guestBash } from '../lib/guest-files.ts';
import { shellQuote } from '../lib/shell-quote.ts';

/** Scripts of the file tools, which shells know as functions. */
export const fileScripts = ['plain', 'read', 'change', 'search'] as const;
/** All file scripts, as text in a variable. */
const files = Symbol('files');

/** The programs inside a sandbox, and the files they are made of. Each is complete: it sources no other file. */
const parts = {
  forker: ['carrier', 'processes', 'room', 'become', 'forker'],
  pipedShell: ['pipes', 'shell'],
  streamShell: ['room', 'frames', 'stream', files, 'shell'],
  streamBoot: ['stream-boot'],
  supervisor: ['carrier', 'processes', 'room', 'become', 'frames', 'supervisor'],
  tether: ['carrier', 'processes', 'tether'],
  keeper: ['carrier', 'keeper'],
  firstProcess: ['first-process'],
  pipedCommand: ['piped-command'],
  pipedInput: ['piped-input'],
  fold: ['fold'],
} as const;

export type GuestScript = keyof typeof parts;

/** Bash source, without comments. */
export async function guestScript(name: GuestScript): Promise<string> {
  const texts = parts[name].map((part) => (part === files ? filesVariable() : guestBash(part)));
  return (await Promise.all(texts)).join('');
}

async function filesVariable(): Promise<string> {
  const functions = await Promise.all(fileScripts.map(fileFunction));
  return `__hermetic_files=${shellQuote(functions.join(''))}\n`;
}

/** Bash source that makes a function of it. */
export async function fileFunction(name: (typeof fileScripts)[number]): Promise<string> {
  return `__hermetic_file_${name}() {\n${await guestBash(`file-${name}`)}}\n`;
}

/** Changes when a running sandbox has other scripts than this version. */
export async function guestVersion(...names: GuestScript[]): Promise<string> {
  const hash = createHash('sha256');
  for (const name of names) hash.update(await guestScript(name));
  for (const name of fileScripts) hash.update(await fileFunction(name));
  return hash.digest('hex').slice(0, 12);
}
