import { statfs } from 'node:fs/promises';
import type { DiskUse } from '../core/sandbox.ts';
import { programs } from '../lib/program-pool.ts';
import type { Program } from '../lib/program-starter.ts';
import { directoryBytes } from './sandbox-directory.ts';

/** File systems in memory, which counts as memory of the sandbox: tmpfs, ramfs, hugetlbfs. */
const memoryTypes: ReadonlySet<number> = new Set([0x01021994, 0x858458f6, 0x958458f6]);
/** Of so many it is remembered that they were counted; one that is open many times beyond that counts as often. */
const maxRemembered = 100_000;
const lookDeadlineMs = 20_000;

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
  if (directory === '') return 0;
  let files = 0;
  await forLinesOf(['du', '-s', '--inodes', '--', directory], (line) => {
    files = Number.parseInt(line, 10) || 0;
  });
  return files;
}

/** Regular files with no name any more that processes have open, or mapped where this program is root. */
async function deletedFilesOf(processes: readonly number[]): Promise<{ bytes: number; files: number }> {
  const directories = processes.flatMap((pid) => [`/proc/${pid}/fd`, `/proc/${pid}/map_files`]);
  const counted = new Set<string>();
  const devices = new Map<string, { isInMemory: Promise<boolean>; bytes: number; files: number }>();
  if (directories.length === 0) return { bytes: 0, files: 0 };
  // Their names are numbers, so that a line is a line.
  const looking = ['-L', ...directories, '-maxdepth', '1', '-type', 'f', '-links', '0', '-printf', '%D %i %b %p\n'];
  await forLinesOf(['find', ...looking], (line) => {
    const [name = '', inode = '', blocks = '', path = ''] = line.split(' ');
    const key = `${name} ${inode}`;
    if (counted.has(key)) return;
    if (counted.size < maxRemembered) counted.add(key);
    const device = devices.get(name) ?? { isInMemory: isInMemory(path), bytes: 0, files: 0 };
    devices.set(name, device);
    device.bytes += Number(blocks) * 512;
    device.files += 1;
  });
  const onDisk = await Promise.all([...devices.values()].map(async (device) => ((await device.isInMemory) ? [] : [device])));
  return { bytes: sum(onDisk.flat().map(({ bytes }) => bytes)), files: sum(onDisk.flat().map(({ files }) => files)) };
}

async function isInMemory(path: string): Promise<boolean> {
  const { type } = await statfs(path).catch(() => ({ type: 0 }));
  return memoryTypes.has(type >>> 0);
}

/** Hands on the output of a program by lines; its errors, such as vanished files, are ignored. Rejects when it takes too long. */
async function forLinesOf(words: Program['words'], onLine: (line: string) => void): Promise<void> {
  let pending = '';
  const onOutput = (piece: Buffer): void => {
    const lines = (pending + piece.toString('latin1')).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  };
  await programs.run({ words, timeoutMs: lookDeadlineMs, onOutput });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
