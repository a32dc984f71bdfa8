import type { Sandbox } from '../../core/sandbox.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { plainName } from '../../lib/plain-name.ts';
import { askToSucceed } from '../../shell/ask-sandbox.ts';

/**
 * Puts what a person sent into a sandbox in which no directory of the host can be shown. Resolves with the path inside. File modes are all that keeps
 * the agent from changing it.
 */
export async function putFile(sandbox: Sandbox, name: string, data: Uint8Array): Promise<string> {
  // Security: the sender of a file chooses its name.
  const request = { command: await guestBash('put-file'), args: [plainName(name)] };
  return (await askToSucceed(sandbox, request, { stdin: data, timeoutMs: 60_000 })).toString();
}
