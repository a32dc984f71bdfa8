import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readFile, stat } from 'node:fs/promises';
import { release } from 'node:os';
import { promisify } from 'node:util';
import { HermeticError } from '../../core/errors.ts';
import type { Mount } from '../../core/sandbox.ts';
import { standardPath } from '../programs.ts';

/**
 * Security: no startup file runs before the script. Bash reads ~/.bashrc even for -c when its standard input is a socket, as from Node,
 * and inside that file is the work of earlier commands.
 */
export const bash = ['/bin/bash', '--norc', '--noprofile', '-p', '-c'] as const;

/** The descriptor from which `host-scripts/sandbox-stage.bash` reads its words. */
export const stageDescriptor = 6;

/** Made once on the host and always empty there. Each sandbox mounts its own directories below it, where only it sees them. */
const stageDirectory = '/run/hermetic';

/** The host user that a sandbox is when the product runs as root: one of its own, far from the ranges that systems hand out. */
export function hostUserOf(name: string): number {
  return 1_900_000_000 + createHash('sha256').update(name).digest().readUIntBE(0, 3);
}

/** Root becomes a user of the sandbox's own, unless it is only the root of a user namespace that does not have so many users. */
export async function hostUserHere(name: string): Promise<number | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const user = hostUserOf(name);
  const covers = (map: string): boolean =>
    map.split('\n').some((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
      return first <= user && user < first + count;
    });
  const maps = await Promise.all(['uid_map', 'gid_map'].map((file) => readFile(`/proc/self/${file}`, 'utf8')));
  return maps.every(covers) ? user : undefined;
}

/** Whether a limit of processes per user counts those of the sandbox alone: it has a user of its own, or the kernel is 5.14 or newer. */
export function countsApart(): boolean {
  const [major = 0, minor = 0] = release()
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  return process.getuid?.() === 0 || major > 5 || (major === 5 && minor >= 14);
}

/** Groups of version 1 are entered on the way to becoming another user. */
export function groupVersions(user: number | undefined): readonly (1 | 2)[] {
  return user === undefined ? [2] : [1, 2];
}

export interface Stage {
  /** The input of `host-scripts/sandbox-stage.bash`, separated by NUL. */
  words: string[];
  /** Where each source appears, in the same order; one that is undefined appears nowhere. */
  places: (string | undefined)[];
}

/** Where the source of this number appears. */
export function stagePlace(index: number): string {
  return `${stageDirectory}/${index}`;
}

/** `covers` are files that take the place of files of the host, by path, for this sandbox alone. */
export async function planStage(
  user: number,
  sources: readonly (string | undefined)[],
  entrances: readonly string[],
  covers: Readonly<Record<string, string>> = {},
): Promise<Stage> {
  await mkdir(stageDirectory, { recursive: true, mode: 0o755 });
  const places = sources.map((source, index) => source && stagePlace(index));
  const files: string[] = [];
  const lines = await Promise.all(
    sources.map(async (source, index) => {
      const place = places[index];
      if (source === undefined || place === undefined) return '';
      const isDirectory = (await stat(source)).isDirectory();
      if (!isDirectory) files.push(place);
      return `${escapeField(source)} ${place} none rbind${isDirectory ? ',x-mount.mkdir=0755' : ''} 0 0\n`;
    }),
  );
  for (const [path, source] of Object.entries(covers)) lines.push(`${escapeField(source)} ${path} none bind 0 0\n`);
  return { words: [String(user), lines.join(''), String(files.length), ...files, ...entrances], places };
}

/** Throws unless every mount has something to show. */
export async function checkSources(mounts: readonly Mount[]): Promise<void> {
  for (const { source } of mounts) {
    await stat(source).catch((cause: unknown) => {
      throw new HermeticError('sandbox/open-failed', `${source} cannot be mounted: it does not exist or cannot be read.`, { cause });
    });
  }
}

/** Security: the table is split at blanks and lines; a path must not become two fields. */
function escapeField(path: string): string {
  return path.replaceAll(/[\s\\#"]/g, (character) =>
    [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  );
}

/** Security: never follows a link, which a command of an earlier run may have put there. */
export async function give(directory: string, user: number): Promise<void> {
  const { uid } = await lstat(directory);
  if (uid !== user) await promisify(execFile)('chown', ['-RPh', '--', `${user}:${user}`, directory], { env: { PATH: standardPath } });
}

/** Later files in it belong to the same group, so pipes of mode 0660 are for the host and this sandbox alone. */
export async function shareRunDirectory(directory: string, user: number): Promise<void> {
  await chown(directory, 0, user);
  await chmod(directory, 0o2750);
}

/** For a list that is read to its end. */
export function terminated(words: readonly string[]): string {
  return words.map((word) => `${word}\0`).join('');
}
