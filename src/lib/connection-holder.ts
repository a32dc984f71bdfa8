import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { canonicalAddress } from './ip-address.ts';

/** The two ends of a connection, as Node's sockets name them. */
export interface Ends {
  remoteAddress?: string | undefined;
  remotePort?: number | undefined;
  localAddress?: string | undefined;
  localPort?: number | undefined;
}

/**
 * The other end of a TCP connection: another machine, a process of this one, one of the processes of another user, whose files this user
 * may not see, or nothing that can be found any more.
 */
export type Holder = { kind: 'remote' | 'gone' } | { kind: 'process'; pid: number } | { kind: 'hidden'; pids: number[] };

/** So many processes are looked at together. */
const batch = 16;

/** A process that hands the connection on while it is looked for is found, or has ended, in one of them. */
const maxSearches = 3;
/** Between them: a process that ends lets go of its files a moment before the connection is closed. */
const pauseMs = 25;

export async function connectionHolder(ends: Ends): Promise<Holder> {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = ends;
  const [near, far] = [`${canonicalAddress(localAddress)} ${localPort}`, `${canonicalAddress(remoteAddress)} ${remotePort}`];
  let found: Holder = { kind: 'gone' };
  for (let searches = 0; searches < maxSearches; searches++) {
    // As the other end sees it.
    const row = (await connections()).find(({ local, remote }) => local === far && remote === near);
    if (!row) return isOwnAddress(canonicalAddress(remoteAddress)) ? { kind: 'gone' } : { kind: 'remote' };
    if (row.inode === '0') return { kind: 'gone' };
    found = await holderOf(row);
    if (found.kind === 'process') return found;
    await delay(pauseMs);
  }
  return found;
}

interface Connection {
  local: string;
  remote: string;
  uid: number;
  inode: string;
}

async function connections(): Promise<Connection[]> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/self/net/${name}`, 'latin1').catch(() => '')));
  return tables.flatMap((table) =>
    table
      .split('\n')
      .slice(1)
      .filter(Boolean)
      .map((line) => {
        const [, local = '', remote = '', , , , , uid, , inode = '0'] = line.trim().split(/\s+/);
        return { local: endText(local), remote: endText(remote), uid: Number(uid), inode };
      }),
  );
}

/** `0100007F:1F90` is 127.0.0.1 and 8080: words of four bytes, the lowest first. */
function endText(text: string): string {
  const [address = '', port = ''] = text.split(':');
  const words = address.match(/.{8}/g) ?? [];
  const bytes = Buffer.concat(words.map((word) => Buffer.from(word, 'hex').reverse()));
  const written = bytes.length === 4 ? bytes.join('.') : (bytes.toString('hex').match(/.{4}/g) ?? []).join(':');
  return `${canonicalAddress(written)} ${Number.parseInt(port, 16)}`;
}

function isOwnAddress(address: string): boolean {
  if (address.startsWith('127.') || address === canonicalAddress('::1')) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some((one) => canonicalAddress(one.address) === address));
}

async function holderOf({ inode, uid }: Connection): Promise<Holder> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const hidden: number[] = [];
  // The newest first: most connections are those of programs that have just begun.
  for (let left = pids.reverse(); left.length > 0; left = left.slice(batch)) {
    const holders = await Promise.all(left.slice(0, batch).map((pid) => holds(pid, `socket:[${inode}]`)));
    const at = holders.indexOf(true);
    if (at !== -1) return { kind: 'process', pid: left[at] ?? 0 };
    for (const [index, answer] of holders.entries()) if (answer === undefined) hidden.push(left[index] ?? 0);
  }
  const owners = await Promise.all(hidden.map((pid) => stat(`/proc/${pid}`).catch(() => undefined)));
  const candidates = hidden.filter((_, index) => owners[index]?.uid === uid);
  // Security: a connection that no process holds may be on its way from one to another.
  return candidates.length === 0 ? { kind: 'gone' } : { kind: 'hidden', pids: candidates };
}

/** undefined when this user may not see what the process has open. */
async function holds(pid: number, link: string): Promise<boolean | undefined> {
  const directory = `/proc/${pid}/fd`;
  const names = await readdir(directory).catch(() => undefined);
  if (!names) return undefined;
  const links = await Promise.all(names.map((name) => readlink(`${directory}/${name}`).catch(() => '')));
  return links.includes(link);
}
