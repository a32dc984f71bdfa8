import { type BigIntStats, closeSync, fstatSync, openSync } from 'node:fs';
import { lstat, readFile, stat } from 'node:fs/promises';
import { HermeticError } from '../../core/errors.ts';
import { runDirectoryInside } from './container.ts';
import type { Engine } from './engine.ts';

export interface ContainerPlace {
  engine: Engine;
  id: string;
  /** Host path of the directory that the container has at `runDirectoryInside`. */
  runDirectory: string;
}

/**
 * A descriptor of the network namespace of a running container. Security: the engine names a process by its number, which may mean another one
 * here. Sockets are only ever opened in a namespace that is known to be this container's and to have no way out.
 */
export async function networkNamespaceOf(place: ContainerPlace, signal?: AbortSignal): Promise<number> {
  const pid = await processOf(place, signal);
  const descriptor = openNamespace(pid);
  try {
    const [own, inside, here] = await Promise.all([
      stat('/proc/self/ns/net', { bigint: true }),
      lstat(`/proc/${pid}/root${runDirectoryInside}`, { bigint: true }).catch(() => undefined),
      lstat(place.runDirectory, { bigint: true }),
    ]);
    if (!inside || !isSame(inside, here)) throw hiddenProcess();
    if (isSame(fstatSync(descriptor, { bigint: true }), own)) throw unusable('shares the network of this program');
    if (!(await hasNoRoute(pid))) throw unusable('has another way out of its network');
    // The process has this number since before the descriptor was opened.
    if ((await processOf(place, signal)) !== pid) throw unusable('was restarted');
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

async function processOf({ engine, id }: ContainerPlace, signal: AbortSignal | undefined): Promise<number> {
  const found = await engine.inspect(id, { signal });
  if (!found?.running || found.pid === 0) throw unusable('has ended');
  return found.pid;
}

function openNamespace(pid: number): number {
  try {
    return openSync(`/proc/${pid}/ns/net`, 'r');
  } catch {
    throw hiddenProcess();
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** The routes of the loopback device lead nowhere. */
async function hasNoRoute(pid: number): Promise<boolean> {
  const [ipv4, ipv6] = await Promise.all([
    readFile(`/proc/${pid}/net/route`, 'utf8'),
    // A kernel without IPv6 has no such file.
    readFile(`/proc/${pid}/net/ipv6_route`, 'utf8').catch(() => ''),
  ]);
  const routes = [
    ...ipv4
      .split('\n')
      .slice(1)
      .map((line) => line.split(/\s/)[0]),
    ...ipv6.split('\n').map((line) => line.split(/\s+/).at(-1)),
  ];
  return routes.every((device) => device === '' || device === undefined || device === 'lo');
}

/** Another container may not have the fault. */
function unusable(fault: string): HermeticError {
  return new HermeticError('sandbox/open-failed', `The network of the container could not be opened: it ${fault}.`);
}

function hiddenProcess(): HermeticError {
  return new HermeticError(
    'sandbox/network-failed',
    'The process of the container cannot be seen from here, so its network cannot be opened.',
    {
      hint: 'Hermetic must see the processes of the engine: run it outside of a container, or set terminal.network to none or open.',
    },
  );
}
