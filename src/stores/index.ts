import type { Store } from '../core/store.ts';

/**
 * Opens the state database at this path, or makes it. An older one is migrated after a backup was written beside it; a newer or damaged
 * one is refused and left as it is.
 */
export async function openStore(path: string): Promise<Store> {
  // The query layer takes a tenth of a second to load, which commands that need no store should not pay.
  const { openSqliteStore } = await import('./sqlite/open.ts');
  return openSqliteStore(path);
}
