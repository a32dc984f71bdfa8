import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statfs } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { DiskUse } from '../core/sandbox.ts';
import { started } from '../lib/started.ts';
import { directoryBytes } from './sandbox-directory.ts';

/** File systems in memory, which counts as memory of the sandbox: tmpfs, ramfs, hugetlbfs. */
const memoryTypes: ReadonlySet<number> = new Set([0x01021994, 0x858458f6, 0x958458f6]);
/** Of so many it is remembered that they were counted; one that is open many times beyond that counts as often. */
const maxRemembered = 100_000;
const lookPatienceMs = 20_000;

/** Size of these directories, and of deleted files that processes hold open. A process that this user may not inspect counts as holding none. */
export async function diskUseOf(directories: readonly string[], processes: readonly number[]): Promise<DiskUse> {
  const [sizes, counts, deleted] = await Promise.all([
    Promise.all(directories.map(directoryBytes)),
    Promise.all(directories.map(directoryFiles)),
    deletedFilesOf(processes),
  ]);
  return { bytes: sum(sizes) + deleted.bytes, deletedBytes: deleted.bytes, files: sum(counts) + deleted.files };
}

/** Files and directories; 0 where `du` cannot count them. */
async function directoryFiles(directory: string): Promise<number> {
  let files = 0;
  if (directory !== '') for await (const line of linesOf('du', ['-s', '--inodes', '--', directory])) files = Number.parseInt(line, 10) || 0;
  return files;
}

/** Regular files with no name any more that processes have open, or mapped where this program is root. */
async function deletedFilesOf(processes: readonly number[]): Promise<{ bytes: number; files: number }> {
  const directories = processes.flatMap((pid) => [`/proc/${pid}/fd`, `/proc/${pid}/map_files`]);
  const counted = new Set<string>();
  const inMemory = new Map<string, Promise<boolean>>();
  let bytes = 0;
  let files = 0;
  if (directories.length === 0) return { bytes, files };
  // Their names are numbers, so that a line is a line.
  const lines = linesOf('find', ['-L', ...directories, '-maxdepth', '1', '-type', 'f', '-links', '0', '-printf', '%D %i %b %p\n']);
  for await (const line of lines) {
    const [device = '', inode = '', blocks = '', path = ''] = line.split(' ');
    const key = `${device} ${inode}`;
    if (counted.has(key)) continue;
    if (counted.size < maxRemembered) counted.add(key);
    if (!inMemory.has(device)) inMemory.set(device, isInMemory(path));
    if (await inMemory.get(device)) continue;
    bytes += Number(blocks) * 512;
    files += 1;
  }
  return { bytes, files };
}

async function isInMemory(path: string): Promise<boolean> {
  const { type } = await statfs(path).catch(() => ({ type: 0 }));
  return memoryTypes.has(type >>> 0);
}

/** The output of a program, by lines; its errors, such as vanished files, are ignored. Throws when it takes too long. */
async function* linesOf(program: string, args: readonly string[]): AsyncGenerator<string> {
  const child = started(spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] }));
  let isLate = false;
  const end = (): void => {
    isLate = true;
    child.kill('SIGKILL');
  };
  const late = setTimeout(end, lookPatienceMs);
  const closed = once(child, 'close');
  try {
    yield* createInterface(child.stdout);
    await closed;
    // Security: half a count would be taken for the whole.
    if (isLate) throw new Error(`${program} took longer than ${lookPatienceMs / 1000} s`);
  } finally {
    clearTimeout(late);
    child.kill('SIGKILL');
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
