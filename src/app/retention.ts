import { join } from 'node:path';
import { archiveLog } from '../audit/archive.ts';
import { inboxMemoryMs } from '../core/conversation.ts';
import type { Store } from '../core/store.ts';
import { errorText } from '../lib/error-text.ts';
import { sweep } from '../sandboxes/sweep.ts';
import type { App } from './app.ts';

/** Where segments of the audit log are. */
export function auditDirectory(home: string): string {
  return join(home, 'logs');
}

const dayMs = 24 * 60 * 60 * 1000;

/** Removes messages that were handled long ago from the inbox and the outbox. Never rejects. */
export async function forgetHandled({ inbox, outbox, setAside }: Store, log: (line: string) => void, signal?: AbortSignal): Promise<void> {
  const before = new Date(Date.now() - inboxMemoryMs);
  try {
    await inbox.prune(before, signal);
    await setAside.prune(before, signal);
    await outbox.prune(before, signal);
  } catch (error) {
    log(`handled messages were not removed: ${errorText(error)}`);
  }
}

/** Removes all that is too old, then gives its space back. Ends soon, with the rest left for the next time, when the signal aborts. Never rejects. */
export async function forgetOld(app: App, store: Store, log: (line: string) => void, signal: AbortSignal): Promise<void> {
  await forgetHandled(store, log, signal);
  await applyRetention(app, log, signal);
  await store.shrink(signal).catch((error: unknown) => log(`free space was not given back: ${errorText(error)}`));
}

/** Removes what the configuration says is not kept any longer. What fails is logged and tried again the next time; the rest is done. Never rejects. */
export async function applyRetention(app: App, log: (line: string) => void, signal?: AbortSignal): Promise<void> {
  const { gateway, approvals, audit } = app.loaded.config;
  const since = (days: number): Date | undefined => (days === 0 ? undefined : new Date(Date.now() - days * dayMs));
  const attempt = async (what: string, days: number, remove: (before: Date) => Promise<void>): Promise<void> => {
    const before = since(days);
    if (!before || signal?.aborted) return;
    try {
      await remove(before);
    } catch (error) {
      log(`${what} from before ${before.toISOString().slice(0, 10)} were not removed: ${errorText(error)}`);
    }
  };
  for (const backend of app.backends.values()) {
    await attempt(`sandboxes of ${backend.kind}`, gateway.sandbox_retention_days, async (unusedSince) => {
      const removed = await sweep({ backends: [backend], ledger: (await app.store()).sandboxes, unusedSince });
      for (const { session, why } of removed) log(`the ${backend.kind} sandbox of ${session} was removed: it ${why}`);
    });
  }
  await attempt('transcripts', gateway.transcript_retention_days, async (before) => {
    const { conversations, webLog } = await app.store();
    await conversations.prune(before, signal);
    await webLog.prune(before, signal);
  });
  await attempt('audit records', audit.retention_days, async (before) => {
    const archived = await archiveLog((await app.store()).audit, auditDirectory(app.loaded.home), before);
    for (const { first, last } of archived) log(`records ${first} to ${last} of the audit log were archived`);
  });
  await attempt('questions', approvals.retention_days, async (before) => (await app.store()).approvals.prune(before, signal));
}
