import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { getHeapStatistics } from 'node:v8';

const mebibyte = 1024 * 1024;
const minHeapMebibytes = 256;
/** The most that the young generation adds to what the argument says, in the limit that Node reports. */
const youngMebibytes = 192;
/** Kernels say "none" by a number larger than any memory. */
const unlimitedBytes = 2 ** 60;

/** The smallest memory limit of the control groups that this process is in, in bytes; undefined without one. `root` is where the files of the kernel are. */
function memoryLimit(root) {
  const found = groupDirectories(root).flatMap(({ mount, path, files }) =>
    // In a container the path may be that of the host, whose lower part is missing here: what is not there is passed over.
    upwards(normalize(path)).flatMap((group) => files.flatMap((file) => limitIn(join(mount, group, file)))),
  );
  return found.length > 0 ? Math.min(...found) : undefined;
}

/**
 * The arguments by which Node keeps its heap within a quarter of the memory limit; none without a limit, when a person has set one, or when Node by itself
 * stays within it. `ownBytes` is the limit of Node by itself: no argument ever raises it.
 */
export function heapArguments({
  root = '/',
  execArgv = process.execArgv,
  nodeOptions = process.env.NODE_OPTIONS ?? '',
  ownBytes = getHeapStatistics().heap_size_limit,
} = {}) {
  if (/--max[-_](?:old[-_]space|heap)[-_]size/.test([...execArgv, nodeOptions].join(' '))) return [];
  const limit = memoryLimit(root);
  if (limit === undefined) return [];
  const mebibytes = Math.max(minHeapMebibytes, Math.floor(limit / 4 / mebibyte));
  return mebibytes + youngMebibytes < ownBytes / mebibyte ? [`--max-old-space-size=${mebibytes}`] : [];
}

function groupDirectories(root) {
  const lines = read(join(root, 'proc/self/cgroup'))?.split('\n') ?? [];
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    const base = join(root, 'sys/fs/cgroup');
    if (controllers === '') return ['', 'unified'].map((name) => ({ mount: join(base, name), path, files: ['memory.max', 'memory.high'] }));
    if (!controllers?.split(',').includes('memory')) return [];
    return [{ mount: join(base, 'memory'), path, files: ['memory.limit_in_bytes'] }];
  });
}

/** A path and all above it, up to the root. */
function upwards(path) {
  return path === '/' ? ['/'] : [path, ...upwards(dirname(path))];
}

function limitIn(file) {
  const text = read(file)?.trim() ?? '';
  const bytes = /^\d+$/.test(text) ? Number(text) : unlimitedBytes;
  return bytes > 0 && bytes < unlimitedBytes ? [bytes] : [];
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
