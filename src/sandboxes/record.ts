import { existsSync } from 'node:fs';
import { pathsIn } from '../backends/sandbox-directory.ts';
import type { Backend, OpenListener, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import type { SandboxLedger } from '../core/store.ts';
import { isKept } from './kept.ts';
import { Lease } from './lease.ts';
import { SandboxWrapper } from './sandbox-wrapper.ts';

export interface RecordOptions {
  backend: Backend;
  spec: SandboxSpec;
  /** Of the session; its name is derived from them. */
  parts: readonly string[];
  /** Its files are for this program alone, which keeps them until it destroys them or dies. */
  isEphemeral: boolean;
  fingerprint: string;
  /** How long it stays this program's after the program was last heard of. */
  leaseMs?: number | undefined;
  /** May still be opening: a sandbox that is known already need not wait for it. */
  ledger: Promise<SandboxLedger>;
  /** For the audit log. */
  note(outcome: string): void;
}

const removedReason = 'this program did not run until its lease was over, and another program removed it';

/** Opens a sandbox that the ledger knew of before anything of it was made, and knows of until nothing of it is left. */
export async function openRecorded(options: RecordOptions, listener: OpenListener, signal?: AbortSignal): Promise<SandboxWrapper> {
  const { backend, spec, parts, isEphemeral, fingerprint, note } = options;
  const { name, directory, image } = spec;
  const key = { backend: backend.kind, name };
  const lease = new Lease(key, options.leaseMs);
  const { owner, leaseMs } = lease;
  const persistent = spec.persistent && !isEphemeral;
  const beginning = { ...key, session: parts, image, specHash: fingerprint, directory, persistent, createdAt: new Date() };
  let sandbox: OpenSandbox | undefined;
  const removed = (): void => {
    const text = `The sandbox is gone: ${removedReason}.`;
    listener.notice(text, text);
    note('removed by another program');
    void sandbox?.end(removedReason).catch(() => undefined);
  };
  const begun = options.ledger.then(async (ledger) => {
    const former = await ledger.find(key);
    const kept = former && isKept(former) ? former : undefined;
    // Security: a session that does not open here keeps the place where its files are.
    await ledger.begin({ ...beginning, directory: kept?.directory ?? directory, owner, leaseMs });
    // From here on: an image may take long to arrive.
    lease.keep(ledger, { shared: !isEphemeral, removed });
    return { ledger, kept };
  });
  begun.catch(() => undefined);
  const release = async (hasFiles: boolean): Promise<void> => {
    const { ledger } = await begun;
    // An ephemeral one stays this program's own: closed, any sweep could remove it.
    if (hasFiles && isEphemeral) return;
    await lease.giveUp();
    if (!hasFiles) await ledger.forget(key);
    else await ledger.closed(key, new Date(), owner);
  };
  const hasRecord = (): boolean => existsSync(pathsIn(directory).record);
  if (!hasRecord()) await begun;
  try {
    sandbox = await backend.open(spec, listener, signal);
    const { ledger, kept } = await begun;
    if (kept && kept.directory !== directory) await ledger.begin({ ...beginning, owner, leaseMs });
    await ledger.opened(key, { specHash: fingerprint, owner, leaseMs });
    note('opened');
    return new SandboxWrapper(sandbox).add({
      leaving: () => {
        // One that cannot be ended is swept later.
        if (!isEphemeral) void lease.giveUp();
      },
      left: async (outcome) => {
        await release(outcome !== 'destroyed' && spec.persistent);
        note(outcome);
      },
    });
  } catch (error) {
    await sandbox?.close();
    // A sandbox that failed to open has left nothing behind, unless it was there before: here, or where the ledger says.
    await release(hasRecord() || (await begun).kept !== undefined);
    throw error;
  }
}
