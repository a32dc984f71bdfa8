import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import { started } from '../../lib/started.ts';
import { findProgram, isAccessible, standardPath } from '../programs.ts';
import type { ControlGroups } from './cgroup.ts';
import { bash } from './launch.ts';

/** The content of /etc/resolv.conf inside: slirp4netns answers there for the resolver of the host. */
export const resolverConfiguration = 'nameserver 10.0.2.3\n';

/** slirp4netns counts as one process of the sandbox. */
export const networkProcesses = 1;

/** Carries what programs inside send to sockets of the host, and back. */
export interface NetworkProcess {
  /** Puts it under the limits of the sandbox. Comes before `connect`. */
  enter(groups: Pick<ControlGroups, 'entrances' | 'add'>): Promise<void>;
  /** Resolves when programs inside can connect. Rejects with the reason; what is left then is for `end`. */
  connect(): Promise<void>;
  /** Resolves when it is gone. */
  end(): Promise<void>;
}

const device = '/dev/net/tun';
/** Descriptors of the started process; see `host-scripts/bubblewrap-network.bash`. */
const readyDescriptor = 3;
const tieDescriptor = 4;

/** Why sandboxes can have no network on this machine, with the remedy; undefined when they can. */
export function networkObstacle(): string | undefined {
  if (findProgram('slirp4netns') === undefined) return 'slirp4netns is not installed (apt-get install slirp4netns)';
  if (!isAccessible(device, constants.F_OK)) return `${device} is missing (modprobe tun)`;
  if (!isAccessible(device, constants.R_OK | constants.W_OK)) return `this user may not open ${device} (sudo chmod 0666 ${device})`;
  return undefined;
}

export function refuseNetworkObstacle(): void {
  const obstacle = networkObstacle();
  if (obstacle === undefined) return;
  throw new HermeticError('backend/cannot-honour', `This sandbox cannot have a network: ${obstacle}.`, {
    hint: 'Remove the obstacle, or set terminal.network to none.',
  });
}

/**
 * Starts what will be the network of one sandbox, and takes over the stream on which bubblewrap reports. `group` is bubblewrap's process group.
 * It ends when this program does, even if that is killed: a descriptor it watches is then closed. Security: as root it becomes the user of the
 * sandbox, because it parses the packets of programs inside.
 */
export function startNetwork(script: string, user: number | undefined, info: Readable, group: number): NetworkProcess {
  const needsCopy = user !== undefined && (statSync(device).mode & 0o006) !== 0o006;
  const ownMounts = needsCopy ? ['unshare', '--mount', '--propagation', 'slave', '--'] : [];
  const words = [`${user ?? ''}`, needsCopy ? 'copy' : '', String(group), findProgram('slirp4netns') ?? 'slirp4netns', ...options];
  const [file = '', ...rest] = [...ownMounts, ...bash, script, 'network', ...words];
  const child = started(
    spawn(file, rest, {
      stdio: [info, 'ignore', 'pipe', 'pipe', 'pipe'],
      env: { PATH: standardPath },
      cwd: '/',
      // A process group of its own: Ctrl-C at the terminal is for the product to handle.
      detached: true,
    }),
  );
  // Now, before anything is read from it here.
  info.destroy();
  const [, , stderr, ready, tie] = child.stdio as unknown as [null, null, Readable, Readable, Writable];
  let said = '';
  stderr.on('data', (data: Buffer) => {
    if (said.length < 4096) said += data.toString();
  });
  tie.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      said += error.message;
      resolve();
    });
    child.once('close', () => resolve());
  });
  const handles = [child, stderr, ready, tie] as unknown as { ref(): void; unref(): void }[];
  return {
    enter: async ({ entrances, add }) => {
      tie.write([...entrances, ''].map((word) => `${word}\0`).join(''));
      await add(child.pid);
    },
    connect: async () => {
      const isReady = await Promise.race([once(ready, 'data').then(() => true), ended.then(() => false)]);
      if (!isReady) throw networkError(said);
      // It must not keep this program running.
      for (const handle of handles) handle.unref();
    },
    end: async () => {
      for (const handle of handles) handle.ref();
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Security: the host's own loopback stays out of reach; and slirp4netns, once it has its device, gives up all rights it does not need and sees
 * no files but those that say where the resolver is.
 */
const options = [
  ...['--configure', '--mtu=65520', '--disable-host-loopback', '--enable-sandbox', '--enable-seccomp'],
  ...[`--exit-fd=${tieDescriptor}`, `--ready-fd=${readyDescriptor}`],
];

function networkError(stderr: string): HermeticError {
  const isOld = /unrecognized option|unknown option/i.test(stderr);
  const said = stderr.trim().split('\n').slice(-3).join('; ') || 'it ended without a message';
  return new HermeticError('sandbox/open-failed', `The sandbox could not be connected to the network by slirp4netns: ${said}`, {
    hint: isOld ? 'slirp4netns 1.0 or newer is needed.' : 'hermetic doctor shows more. terminal.network: none does without a network.',
  });
}
