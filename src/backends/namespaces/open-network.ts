import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';
import { started } from '../../lib/started.ts';
import { findProgram, isAccessible, standardPath } from '../programs.ts';
import type { Launched, SandboxNetwork } from './network.ts';
import { bash } from './stage.ts';

/** slirp4netns answers there for the resolver of the host. */
export const openResolver = '10.0.2.3';
const device = '/dev/net/tun';
/** Descriptors of the started process; see `host-scripts/sandbox-network.bash`. */
const readyDescriptor = 3;
const tieDescriptor = 4;

/** Why sandboxes can have no open network on this machine, with the remedy; undefined when they can. */
export function openNetworkObstacle(): string | undefined {
  if (findProgram('slirp4netns') === undefined) return 'slirp4netns is not installed (apt-get install slirp4netns)';
  if (!isAccessible(device, constants.F_OK)) return `${device} is missing (modprobe tun)`;
  if (!isAccessible(device, constants.R_OK | constants.W_OK)) return `this user may not open ${device} (sudo chmod 0666 ${device})`;
  return undefined;
}

/** slirp4netns. Security: as root it becomes the user of the sandbox, because it parses the packets of programs inside. */
export function startOpenNetwork(script: string, { user, info, group }: Launched): SandboxNetwork {
  const needsCopy = user !== undefined && (statSync(device).mode & 0o006) !== 0o006;
  const ownMounts = needsCopy ? ['unshare', '--mount', '--propagation', 'slave', '--'] : [];
  const slirp4netns = [findProgram('slirp4netns') ?? 'slirp4netns', ...options];
  const words = ['attach', `${user ?? ''}`, String(group), needsCopy ? 'copy' : '', ...slirp4netns];
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
    processes: 1,
    enter: async ({ entrances, add }) => {
      tie.write([...entrances, ''].map((word) => `${word}\0`).join(''));
      await add(child.pid);
    },
    connect: async () => {
      const isReady = await Promise.race([once(ready, 'data').then(() => true), ended.then(() => false)]);
      if (!isReady) throw networkError(said);
      // It must not keep this program running.
      for (const handle of handles) handle.unref();
      return undefined;
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
    hint: isOld ? 'slirp4netns 1.0 or newer is needed.' : `${hermetic} doctor shows more. terminal.network: none does without a network.`,
  });
}
