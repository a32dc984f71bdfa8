import { connectionHolder, type Ends } from '../lib/connection-holder.ts';
import { provenProcess } from '../lib/proven-process.ts';
import type { App } from './app.ts';
import { originOf, type ProcessOrigin, refusedOrigin } from './session-process.ts';

export interface SessionPeersOptions {
  home: string;
  /** Whether no session runs commands on the host itself. */
  isContained(): boolean;
}

/**
 * Security: whether what connects to this program is a command of a session, which may hold the token and must not answer in a
 * person's name.
 */
export class SessionPeers {
  readonly #options: SessionPeersOptions;

  constructor(options: SessionPeersOptions) {
    this.#options = options;
  }

  /** Why a connection over TCP is refused; undefined when it is not. */
  async refusalOfConnection(what: string, ends: Ends): Promise<string | undefined> {
    return this.#refusal(what, await connectionOrigin(ends));
  }

  /** The same for a connection to a socket of the home. `ask` has the other end open a file and say its process number. */
  async refusalOfTerminal(ask: (path: string) => Promise<unknown>): Promise<string | undefined> {
    if (process.platform !== 'linux') return undefined;
    const pid = await provenProcess(this.#options.home, ask);
    const origin = pid === undefined ? ({ kind: 'unknown', why: 'its process cannot be found' } as const) : peerOrigin(pid);
    return this.#refusal('The running gateway', origin);
  }

  /** An unknown origin is refused where commands run on the host itself; elsewhere commands cannot reach these connections. */
  #refusal(what: string, origin: ProcessOrigin): string | undefined {
    if (origin.kind === 'elsewhere' || (origin.kind === 'unknown' && this.#options.isContained())) return undefined;
    return refusedOrigin(what, origin).message;
  }
}

async function connectionOrigin(ends: Ends): Promise<ProcessOrigin> {
  if (process.platform !== 'linux') return { kind: 'elsewhere' };
  const holder = await connectionHolder(ends);
  switch (holder.kind) {
    case 'remote':
      return { kind: 'elsewhere' };
    case 'gone':
      return { kind: 'unknown', why: 'its process cannot be found' };
    case 'process':
      return peerOrigin(holder.pid);
    case 'hidden':
      return holder.pids.map(peerOrigin).find(({ kind }) => kind === 'session') ?? { kind: 'elsewhere' };
  }
}

function peerOrigin(pid: number): ProcessOrigin {
  return pid === process.pid ? { kind: 'elsewhere' } : originOf(pid, process.pid, { strays: false });
}

/** Whether a backend of this name, or each one that it may stand for, keeps commands off the host itself. */
export function isContained(app: App, backend: string): boolean {
  return app.candidates(backend).every(({ traits }) => traits.isolation !== 'none');
}
