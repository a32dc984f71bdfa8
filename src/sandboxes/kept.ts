import type { SandboxEntry } from '../core/store.ts';

/**
 * Whether the ledger gives a sandbox to a session for good: it may have files that return with the session, wherever they are. One that was begun once,
 * and neither opened nor closed since, has none.
 */
export function isKept({ session, persistent, state, createdAt, lastUsedAt }: SandboxEntry): boolean {
  const wasOpened = state !== 'opening' || lastUsedAt > createdAt;
  return session.length > 0 && persistent && wasOpened;
}
