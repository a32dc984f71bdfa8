import type { Sandbox } from '../core/sandbox.ts';
import { guestBash } from '../lib/guest-files.ts';
import { askSandbox } from '../shell/ask-sandbox.ts';

/** Removes the files that tools keep for a session that is over: where several sessions share one home, destroying a sandbox leaves that home. */
export async function removeOwnDirectory(sandbox: Sandbox): Promise<void> {
  await askSandbox(sandbox, { command: await guestBash('own-directory', 'own-directory-remove'), args: [sandbox.name] });
}
