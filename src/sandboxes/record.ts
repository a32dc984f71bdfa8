import { existsSync } from 'node:fs';
import { pathsIn } from '../backends/sandbox-directory.ts';
import type { Backend, OpenListener, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import type { SandboxLedger } from '../core/store.ts';
import { processName } from '../lib/process-name.ts';
import { SandboxWrapper } from './sandbox-wrapper.ts';

export interface RecordOptions {
  backend: Backend;
  spec: SandboxSpec;
  /** Of the session; its name is derived from them. */
  parts: readonly string[];
  /** Its files are for this program alone, which keeps them until it destroys them or dies. */
  isEphemeral: boolean;
  fingerprint: string;
  /** May still be opening: a sandbox that is known already need not wait for it. */
  ledger: Promise<SandboxLedger>;
  /** For the audit log. */
  note(outcome: string): void;
}

const maxBetweenRenewalsMs = 60_000;

/** Opens a sandbox that the ledger knew of before anything of it was made, and knows of until nothing of it is left. */
export async function openRecorded(options: RecordOptions, listener: OpenListener, signal?: AbortSignal): Promise<SandboxWrapper> {
  const { backend, spec, parts, isEphemeral, fingerprint, note } = options;
  const { name, directory, image } = spec;
  const owner = processName();
  const key = { backend: backend.kind, name };
  const idleMs = spec.idleSeconds * 1000;
  const leaseUntil = (): Date => new Date(Date.now() + idleMs);
  const persistent = spec.persistent && !isEphemeral;
  const beginning = { ...key, session: parts, image, specHash: fingerprint, directory, persistent, createdAt: new Date(), owner };
  const begun = options.ledger.then(async (ledger) => {
    await ledger.begin({ ...beginning, leaseUntil: leaseUntil() });
    return ledger;
  });
  begun.catch(() => undefined);
  const release = async (hasFiles: boolean): Promise<void> => {
    const ledger = await begun;
    if (!hasFiles) await ledger.forget(key);
    // An ephemeral one stays this program's own: closed, any sweep could remove it.
    else if (!isEphemeral) await ledger.closed(key, new Date(), owner);
  };
  const hasRecord = (): boolean => existsSync(pathsIn(directory).record);
  if (!hasRecord()) await begun;
  let sandbox: OpenSandbox | undefined;
  try {
    sandbox = await backend.open(spec, listener, signal);
    const ledger = await begun;
    await ledger.opened(key, { specHash: fingerprint, owner, leaseUntil: leaseUntil() });
    note('opened');
    const renew = (): void => void ledger.used(key, new Date(), leaseUntil()).catch(() => undefined);
    const renewal = setInterval(renew, Math.min(idleMs / 3, maxBetweenRenewalsMs)).unref();
    return new SandboxWrapper(sandbox).add({
      leaving: () => clearInterval(renewal),
      left: async (outcome) => {
        await release(outcome !== 'destroyed' && spec.persistent);
        note(outcome);
      },
    });
  } catch (error) {
    await sandbox?.close();
    // A sandbox that failed to open has left nothing behind, unless it was there before.
    await release(hasRecord());
    throw error;
  }
}
