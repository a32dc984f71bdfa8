import { closeSync, opendirSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { isIPv4, type Socket } from 'node:net';
import { basename } from 'node:path';
import { printable } from '../lib/printable.ts';
import { PacedWork } from './paced-work.ts';
import { findInodes, tableNames } from './socket-table.ts';

/** The process inside that has the other end of a connection. */
export interface Owner {
  /** Of its command; undefined when it has none, or has broken it. */
  mark: string | undefined;
  program: string | undefined;
}

const maxRecent = 16;
/** Security: of clients that came and went while others are looked for. As many as a sandbox has connections. */
const maxWaiting = 256;
const maxProgramLength = 40;
/** What the kernel keeps of the name of a process. */
const maxCommLength = 15;
/** `mark_sum` of guest/processes.bash, which explains it. */
const markSum = 9_000_000_000_000_000n;

/** Finds the clients of the connections that one sandbox makes. */
export class ConnectionOwners {
  readonly #namespace: () => string | undefined;
  readonly #work = new PacedWork();
  /** Processes that had connections, the latest first. */
  #recent: readonly number[] = [];
  /** A process in the namespace, through which its sockets can be seen. */
  #witness: number | undefined;
  #waiting = 0;

  /** `namespace`: the network namespace of the sandbox, as /proc names it. */
  constructor(namespace: () => string | undefined) {
    this.#namespace = namespace;
  }

  /** undefined when it cannot be found. Never rejects. */
  async ownerOf(socket: Socket): Promise<Owner | undefined> {
    if (this.#waiting >= maxWaiting) return undefined;
    this.#waiting += 1;
    const work = this.#work.run(
      () => this.#find(socket),
      () => !socket.destroyed,
    );
    return await work
      .catch(() => undefined)
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  /** Those of the connections that no process has any more. Never rejects; none when it cannot be told. */
  async abandoned(sockets: readonly Socket[]): Promise<Socket[]> {
    return (await this.#work.run(() => this.#findAbandoned(sockets)).catch(() => undefined)) ?? [];
  }

  /** The marks of the commands that have processes inside. Never rejects; undefined when it cannot be told. */
  async liveMarks(): Promise<ReadonlySet<string> | undefined> {
    return await this.#work.run(() => this.#findMarks()).catch(() => undefined);
  }

  *#findMarks(): Generator<undefined, ReadonlySet<string> | undefined> {
    if (this.#namespace() === undefined) return undefined;
    const marks = new Set<string>();
    for (const pid of processes()) {
      const mark = this.#isInside(pid) ? markIn(start(pid, 'limits', 4_096)) : undefined;
      if (mark !== undefined) marks.add(mark);
      yield;
    }
    return marks;
  }

  *#find(socket: Socket): Generator<undefined, Owner | undefined> {
    const inode = (yield* this.#inodes([socket]))?.get(socket);
    if (inode === undefined) return undefined;
    for (const pids of [this.#recent, processes()]) {
      for (const pid of pids) {
        if (!this.#isInside(pid) || !(yield* hasOpen(pid, `socket:[${inode}]`))) {
          yield;
          continue;
        }
        this.#recent = [pid, ...this.#recent.filter((other) => other !== pid)].slice(0, maxRecent);
        return { mark: markIn(start(pid, 'limits', 4_096)), program: programName(start(pid, 'comm', 64), start(pid, 'cmdline', 4_096)) };
      }
    }
    return undefined;
  }

  *#findAbandoned(sockets: readonly Socket[]): Generator<undefined, Socket[]> {
    // One that is closed on this side tells so itself.
    let missing = sockets.filter((socket) => namesOf(socket).length > 0);
    // Twice: a socket can be passed over while others come and go beside it in the table.
    for (let round = 0; round < 2 && missing.length > 0; round++) {
      const inodes = yield* this.#inodes(missing);
      missing = inodes ? missing.filter((socket) => !inodes.has(socket)) : [];
    }
    return [...missing];
  }

  /** undefined when not all sockets of the sandbox could be seen. */
  *#inodes(sockets: readonly Socket[]): Generator<undefined, Map<Socket, string> | undefined> {
    const witness = yield* this.#findWitness();
    if (witness === undefined) return undefined;
    const names = new Map(sockets.map((socket) => [socket, namesOf(socket)]));
    const found = yield* findInodes(witness, new Set([...names.values()].flat()), sockets.length);
    return (
      found &&
      new Map(
        [...names].flatMap(([socket, [ipv4 = '', mapped = '']]): [Socket, string][] => {
          const inode = found.get(ipv4) ?? found.get(mapped);
          return inode === undefined ? [] : [[socket, inode]];
        }),
      )
    );
  }

  *#findWitness(): Generator<undefined, number | undefined> {
    if (this.#witness !== undefined && this.#isInside(this.#witness)) return this.#witness;
    this.#witness = undefined;
    for (const pid of processes()) {
      if (this.#isInside(pid)) {
        this.#witness = pid;
        return pid;
      }
      yield;
    }
    return undefined;
  }

  #isInside(pid: number): boolean {
    const namespace = this.#namespace();
    return namespace !== undefined && link(`/proc/${pid}/ns/net`) === namespace;
  }
}

/** The mark in /proc/PID/limits, when it is whole. */
export function markIn(limits: string): string | undefined {
  const [, locks = ''] = /^Max file locks +\S+ +(\d+) /m.exec(limits) ?? [];
  const [, bytes = ''] = /^Max resident set +\S+ +(\d+) /m.exec(limits) ?? [];
  if (!/^[1-7]\d{15}$/.test(locks) || bytes === '') return undefined;
  // Security: a process can lower either of them, and then has no mark, but never that of another command.
  return BigInt(locks) + BigInt(bytes) / 1024n === markSum ? locks : undefined;
}

/** What a program calls itself. Some name their threads, and the kernel cuts long names. */
export function programName(comm: string, commandLine: string): string | undefined {
  const [own, called] = [shortText(comm), shortText(basename(commandLine.split('\0')[0] ?? '').replace(/^-/, ''))];
  const isCut = comm.trim().length >= maxCommLength && called.startsWith(own);
  if (own === '' || isCut) return called || undefined;
  return called === '' || called === own ? own : `${own} (${called})`;
}

/** Security: for people to read. */
function shortText(text: string): string {
  return printable(text).slice(0, maxProgramLength);
}

/** The latest ones first, as far as numbers tell: most connections are those of new processes. */
function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((one, other) => other - one);
}

function* hasOpen(pid: number, target: string): Generator<undefined, boolean> {
  const path = `/proc/${pid}/fd`;
  try {
    const directory = opendirSync(path);
    try {
      for (let entry = directory.readSync(); entry; entry = directory.readSync()) {
        if (link(`${path}/${entry.name}`) === target) return true;
        yield;
      }
    } finally {
      directory.closeSync();
    }
  } catch {
    // It has ended, or this user may not see it.
  }
  return false;
}

/** Neither end has a name when the connection is closed. */
function namesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string[] {
  if (!remoteAddress || !localAddress || !isIPv4(remoteAddress) || !isIPv4(localAddress)) return [];
  return tableNames({ address: remoteAddress, port: remotePort ?? 0 }, { address: localAddress, port: localPort ?? 0 });
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** The beginning of a file of a process; empty when it cannot be read. */
function start(pid: number, file: string, maxBytes: number): string {
  try {
    const descriptor = openSync(`/proc/${pid}/${file}`, 'r');
    try {
      const buffer = Buffer.alloc(maxBytes);
      return buffer.toString('utf8', 0, readSync(descriptor, buffer));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return '';
  }
}
