import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { SshPool } from '../../lib/ssh/pool.ts';
import { SshError, type SshFailure } from '../../lib/ssh/ssh-error.ts';
import type { SshTarget } from '../../lib/ssh/target.ts';

/** How the user of this program is known to other machines. */
export interface SshIdentity {
  /** With `known_hosts` and keys; the configuration of ssh in it is not read. */
  directory: string;
  agentSocket: string | undefined;
}

/** The way to a socket of another machine. */
export interface SshWay {
  connect(): Promise<Socket>;
  /** Closes what is open. It can be used again. */
  close(): void;
}

const keys = ['id_ed25519', 'id_ecdsa', 'id_rsa'];

/** Does no input or output but looking for a key. */
export function sshWay(target: SshTarget, path: string, { directory, agentSocket }: SshIdentity): SshWay {
  const pool = new SshPool({
    target,
    jumps: [],
    // Security: another server in place of the engine would get all that is sent to it.
    hostKeys: { path: join(directory, 'known_hosts'), acceptNew: false },
    keyPath: keys.map((name) => join(directory, name)).find((key) => existsSync(key)),
    agentSocket,
  });
  let release = pool.hold();
  return {
    connect: async () => {
      const stream = await pool.openSocket(path);
      // One that waits for its next call has no other listener, and being closed is an error to it.
      stream.on('error', () => undefined);
      const nothing = (): typeof stream => stream;
      // What the HTTP client of Node does with a socket besides reading and writing has no meaning for a channel.
      return Object.assign(stream, { setNoDelay: nothing, setKeepAlive: nothing, setTimeout: nothing }) as unknown as Socket;
    },
    close: () => {
      release();
      release = pool.hold();
    },
  };
}

const codes: Readonly<Partial<Record<SshFailure, ErrorCode>>> = {
  'host-key': 'backend/unavailable',
  'no-ssh': 'backend/unavailable',
  refused: 'backend/unavailable',
  authentication: 'backend/not-permitted',
  'key-file': 'backend/not-permitted',
};

/** undefined for an error of another kind. */
export function sshFailure(error: unknown, name: string): HermeticError | undefined {
  if (!(error instanceof SshError)) return undefined;
  const { kind, message, hint } = error;
  const refusedHint = `Does the ${name} engine run there, may this user use its socket, and does sshd forward to sockets (AllowStreamLocalForwarding)?`;
  return new HermeticError(codes[kind] ?? 'backend/not-running', `The ${name} engine is not reached by ssh: ${message}`, {
    hint: kind === 'refused' ? refusedHint : hint,
    cause: error,
  });
}
