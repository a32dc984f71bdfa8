import { existsSync } from 'node:fs';
import { pathsIn } from '../backends/sandbox-directory.ts';
import type { Backend, OpenListener, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import type { SandboxKey, SandboxLedger } from '../core/store.ts';
import { attachmentName } from '../shell/pipes/attachments.ts';
import { SandboxAround } from './sandbox-wrapper.ts';

export interface RecordedOptions {
  backend: Backend;
  spec: SandboxSpec;
  /** What its name is derived from. */
  parts: readonly string[];
  /** Its files are for this program alone, which keeps them until it destroys them or dies. */
  isPassing: boolean;
  fingerprint: string;
  /** May still be opening: a sandbox that is known already need not wait for it. */
  ledger: Promise<SandboxLedger>;
}

const mostBetweenRenewalsMs = 60_000;

/** Opens a sandbox that the ledger knew of before anything of it was made, and knows of until nothing of it is left. */
export async function openRecorded(options: RecordedOptions, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
  const { backend, spec, parts, isPassing, fingerprint } = options;
  const { name, directory, image } = spec;
  const persistent = spec.persistent && !isPassing;
  const owner = attachmentName();
  const key = { backend: backend.kind, name };
  const leaseUntil = (): Date => new Date(Date.now() + spec.idleSeconds * 1000);
  const beginning = { ...key, session: parts, image, specHash: fingerprint, directory, persistent, createdAt: new Date(), owner };
  const begun = options.ledger.then(async (ledger) => {
    await ledger.begin({ ...beginning, leaseUntil: leaseUntil() });
    return ledger;
  });
  begun.catch(() => undefined);
  if (!existsSync(pathsIn(directory).record)) await begun;
  let sandbox: OpenSandbox | undefined;
  try {
    sandbox = await backend.open(spec, listener, signal);
    const ledger = await begun;
    await ledger.opened(key, { specHash: fingerprint, owner, leaseUntil: leaseUntil() });
    return new RecordedSandbox(sandbox, {
      ledger,
      key,
      owner,
      hasFiles: spec.persistent,
      isPassing,
      leaseUntil,
      idleMs: spec.idleSeconds * 1000,
    });
  } catch (error) {
    await sandbox?.close();
    const ledger = await begun;
    // What failed to open has left nothing behind, unless it was there before.
    const hasFiles = existsSync(pathsIn(directory).record);
    await letGo({ ledger, key, owner, hasFiles, isPassing });
    throw error;
  }
}

interface Hold {
  ledger: SandboxLedger;
  key: SandboxKey;
  owner: string;
  /** There is still something of it. */
  hasFiles: boolean;
  isPassing: boolean;
}

/** What passes with this program stays its own: closed, it would be anybody's to sweep. */
async function letGo({ ledger, key, owner, hasFiles, isPassing }: Hold): Promise<void> {
  if (!hasFiles) await ledger.forget(key);
  else if (!isPassing) await ledger.closed(key, new Date(), owner);
}

interface Record extends Hold {
  leaseUntil(): Date;
  idleMs: number;
}

class RecordedSandbox extends SandboxAround {
  readonly #record: Record;
  readonly #renewal: NodeJS.Timeout;

  constructor(sandbox: OpenSandbox, record: Record) {
    super(sandbox);
    this.#record = record;
    const { ledger, key, leaseUntil, idleMs } = record;
    const renew = (): void => void ledger.used(key, new Date(), leaseUntil()).catch(() => undefined);
    this.#renewal = setInterval(renew, Math.min(idleMs / 3, mostBetweenRenewalsMs)).unref();
  }

  override async close(): Promise<void> {
    clearInterval(this.#renewal);
    await super.close();
    await letGo(this.#record);
  }

  override async stop(): Promise<void> {
    clearInterval(this.#renewal);
    await super.stop();
    await letGo(this.#record);
  }

  override async destroy(): Promise<void> {
    clearInterval(this.#renewal);
    await super.destroy();
    await this.#record.ledger.forget(this.#record.key);
  }
}
