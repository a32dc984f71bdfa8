import type { Duplex } from 'node:stream';
import type { Door, Egress } from '../../core/egress.ts';
import { findProgram } from '../programs.ts';
import type { Launched, SandboxNetwork } from './network.ts';
import { bash } from './stage.ts';

/** Why no network can be restricted on this machine, with the remedy; undefined when it can. */
export function restrictedNetworkObstacle(): string | undefined {
  return findProgram('nsenter') === undefined ? 'nsenter is not installed (apt-get install util-linux)' : undefined;
}

/**
 * The sockets that an egress opens in the namespace of one sandbox. The program that opens them there is under no limit of the sandbox: it reads
 * nothing from inside and ends at once.
 */
export function restrictedNetwork(egress: Egress, script: string, { user, info, group }: Launched): SandboxNetwork {
  const words = ['enter', `${user ?? ''}`, String(group), findProgram('nsenter') ?? 'nsenter'];
  const ending = new AbortController();
  let opening: Promise<Door> | undefined;
  return {
    processes: 0,
    enter: async () => {
      const input = descriptorOf(info);
      if (input === undefined) return;
      // Security: until it was handed over it stays open, also if bubblewrap ends. Its number could be another file's after that.
      info.allowHalfOpen = true;
      const { promise: handedOver, resolve: onStarted } = Promise.withResolvers<void>();
      opening = egress.open({ command: [...bash, script, 'network', ...words], input, onStarted }, ending.signal);
      void opening.catch(() => undefined).then(() => onStarted());
      await handedOver;
      info.destroy();
    },
    connect: async () => {
      if (opening === undefined) throw new Error('bubblewrap ended before its network was there');
      return await opening;
    },
    end: async () => {
      ending.abort();
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** undefined once it is closed. Node has no public name for it. */
function descriptorOf(stream: Duplex): number | undefined {
  const fd = (stream as Duplex & { _handle?: { fd: number } | null })._handle?.fd;
  return fd === undefined || fd < 0 ? undefined : fd;
}
