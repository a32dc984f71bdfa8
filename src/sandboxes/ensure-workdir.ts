import { HermeticError } from '../core/errors.ts';
import type { Backend, OpenSandbox, SandboxSpec } from '../core/sandbox.ts';
import { guestBash } from '../lib/guest-files.ts';
import { printable } from '../lib/printable.ts';
import { askSandbox } from '../shell/ask-sandbox.ts';

/** Makes the directory that `terminal.cwd` names. When that fails the sandbox is stopped: a session never starts somewhere else instead. */
export async function ensureWorkdir(sandbox: OpenSandbox, backend: Backend, spec: SandboxSpec): Promise<void> {
  if (sandbox.cwd !== backend.places(spec).workdir) return;
  try {
    const { stdout, exit } = await askSandbox(sandbox, { command: await guestBash('ensure-workdir'), args: [sandbox.cwd] });
    if (exit.kind === 'exited' && exit.code === 0) return;
    const why = printable(stdout.toString()).trim() || 'it cannot be entered';
    throw new HermeticError('config/bad-value', `terminal.cwd: the sandbox cannot start in ${printable(sandbox.cwd)}: ${why}`, {
      hint: 'Name a directory that exists in the sandbox or can be made there, such as ~/project, or unset terminal.cwd.',
    });
  } catch (error) {
    // Stopped, not only closed: a container that runs on would take no place in the pool.
    await sandbox.stop();
    throw error;
  }
}
