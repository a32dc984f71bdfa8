import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/** One end of a connection over IPv4. */
export interface End {
  address: string;
  port: number;
}

/** Security: a sandbox can fill the tables. So many bytes are about 55,000 sockets; what comes after them is not read. */
const maxBytes = 8 * 1024 * 1024;
/** The kernel gives no more at once. */
const pieceBytes = 4_096;
const row = /^ *\d+: (\S+ \S+) \S+ \S+ \S+ \S+ +\d+ +\d+ (\d+)/gm;

/** How the tables of the kernel name a connection: seen from its client, whose socket may be one of IPv6. */
export function tableNames(client: End, server: End): [ipv4: string, mapped: string] {
  return [`${endText(client, '')} ${endText(server, '')}`, `${endText(client, mappedPrefix)} ${endText(server, mappedPrefix)}`];
}

/** Of the addresses that carry one of IPv4, as the kernel of this machine writes it. */
const mappedPrefix = `0000000000000000${endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'}`;

function endText({ address, port }: End, prefix: string): string {
  const bytes = address.split('.').map((part) => hex(Number(part), 2));
  return `${prefix}${(endianness() === 'LE' ? bytes.reverse() : bytes).join('')}:${hex(port, 4)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}

/** The names and the inodes of the sockets in a piece of a table that ends with a whole row. A socket that no process has is not told. */
export function rowsIn(piece: string): [name: string, inode: string][] {
  return [...piece.matchAll(row)].flatMap(([, name = '', inode = '0']): [string, string][] => (inode === '0' ? [] : [[name, inode]]));
}

/**
 * The inodes of the connections by these names, at most `count`, in the network namespace of a process; undefined when the tables cannot be read
 * to their end. Yields after each piece.
 */
export function* findInodes(pid: number, names: ReadonlySet<string>, count: number): Generator<undefined, Map<string, string> | undefined> {
  const found = new Map<string, string>();
  for (const table of ['tcp', 'tcp6']) {
    const isWhole = yield* readTable(`/proc/${pid}/net/${table}`, (piece) => {
      for (const [name, inode] of rowsIn(piece)) if (names.has(name)) found.set(name, inode);
      return found.size >= count;
    });
    if (found.size >= count) break;
    if (!isWhole) return undefined;
  }
  return found;
}

/** Whether it was read as far as `take` wanted, which is true when it has enough. */
function* readTable(path: string, take: (piece: string) => boolean): Generator<undefined, boolean> {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    // A machine without IPv6 has no such table.
    return path.endsWith('6') && (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
  try {
    const buffer = Buffer.alloc(pieceBytes);
    let rest = '';
    for (let total = 0; total < maxBytes; ) {
      const length = readSync(descriptor, buffer);
      if (length === 0) return true;
      total += length;
      const text = rest + buffer.toString('latin1', 0, length);
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      if (take(text.slice(0, end))) return true;
      yield;
    }
    return false;
  } catch {
    return false;
  } finally {
    closeSync(descriptor);
  }
}
