import type { Duplex } from 'node:stream';
import type { Door, Egress } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import { restrictedResolver } from '../../egress/environment.ts';
import type { ControlGroups } from './cgroup.ts';
import { openNetworkObstacle, openResolver, startOpenNetwork } from './open-network.ts';
import { restrictedNetwork, restrictedNetworkObstacle } from './restricted-network.ts';

/**
 * `none`: the sandbox reaches only itself. `open`: also what the host reaches, but not the host's loopback. With an egress: also the sockets that
 * it opens in the network of the sandbox.
 */
export type NetworkChoice = 'none' | 'open' | { egress: Egress };

/** The way out of one sandbox. */
export interface SandboxNetwork {
  /** How many processes of its own count as the sandbox's. */
  readonly processes: number;
  /** Puts it under the limits of the sandbox. bubblewrap must not report before this has resolved. */
  enter(groups: Pick<ControlGroups, 'entrances' | 'add'>): Promise<void>;
  /**
   * Resolves when programs inside can connect, with the sockets of a restricted network. Rejects with the reason; what is left then is for `end`.
   * Comes after `enter`.
   */
  connect(): Promise<Door | undefined>;
  /** Resolves when it is gone. */
  end(): Promise<void>;
}

/** The process of bubblewrap, as its network needs it. */
export interface Launched {
  /** Its process group. */
  group: number;
  /** Where it says which process is inside. The network takes it over. */
  info: Duplex;
  /** The host user that the sandbox is; undefined: the one that we are. */
  user: number | undefined;
}

/** The content of /etc/resolv.conf inside. */
export function resolverOf(choice: NetworkChoice): string {
  if (choice === 'none') return '';
  return `nameserver ${choice === 'open' ? openResolver : restrictedResolver}\n`;
}

export function refuseObstacle(choice: NetworkChoice): void {
  if (choice === 'none') return;
  const obstacle = choice === 'open' ? openNetworkObstacle() : restrictedNetworkObstacle();
  if (obstacle === undefined) return;
  const network = choice === 'open' ? 'a network' : 'a restricted network';
  throw new HermeticError('backend/cannot-honour', `This sandbox cannot have ${network}: ${obstacle}.`, {
    hint: 'Remove the obstacle, or set terminal.network to none.',
  });
}

/** What will be the network of one sandbox. It ends when this program does, even if that is killed. `script` is `host-scripts/sandbox-network.bash`. */
export function startNetwork(choice: NetworkChoice, script: string, launched: Launched): SandboxNetwork | undefined {
  if (choice === 'none') return undefined;
  return choice === 'open' ? startOpenNetwork(script, launched) : restrictedNetwork(choice.egress, script, launched);
}
