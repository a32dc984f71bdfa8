import type { Sandbox } from '../core/sandbox.ts';
import { askSandbox } from '../shell/ask-sandbox.ts';

/**
 * Bash source that sets `own` to the directory in which tools keep what belongs to this session: logs of processes and output that was
 * too long. `$1` is the name of the sandbox, which matters where several sessions have one home.
 */
export const findOwnDirectory = `
own=\${HOME:-/tmp}
[[ -d $own && -w $own ]] || own=\${TMPDIR:-/tmp}
own=$own/.cache/hermetic/$1
`;

/** For a session that nobody comes back to: where several have one home, destroying a sandbox leaves that home. */
export async function removeOwnDirectory(sandbox: Sandbox): Promise<void> {
  await askSandbox(sandbox, { command: `${findOwnDirectory}rm -rf -- "$own"`, args: [sandbox.name] });
}
