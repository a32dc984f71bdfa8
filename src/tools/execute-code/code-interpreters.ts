import type { ScriptLanguage } from '../../core/approval.ts';
import { HermeticError } from '../../core/errors.ts';
import type { ExecRequest } from '../../core/sandbox.ts';
import { credentialLike } from '../../lib/credential-like.ts';
import { guestFile } from '../../lib/guest-files.ts';

/** `project`: where the session is, with its interpreter. `strict`: in an empty directory, with the sandbox's interpreter. */
export type CodeMode = 'project' | 'strict';

const harnesses: Readonly<Record<ScriptLanguage, string>> = { python: 'code.py', javascript: 'code.mjs', bash: 'code.bash' };

/** Starts the side of the bridge that runs in the sandbox. The script itself comes by the bridge: it may be longer than arguments can be. */
export async function startRequest(language: ScriptLanguage, mode: CodeMode): Promise<ExecRequest> {
  const [command, harness] = await Promise.all([guestFile('code-start.bash'), guestFile(harnesses[language])]);
  return {
    command,
    args: [language, mode, harness, credentialLike.source],
    // Output before a kill is not lost.
    env: { PYTHONUNBUFFERED: '1', PYTHONUTF8: '1' },
    stdin: 'open',
    stateless: true,
  };
}

const wanted: Readonly<Record<ScriptLanguage, { name: string; install: string }>> = {
  python: { name: 'Python 3.8 or newer', install: 'apt-get install python3, apk add python3 or dnf install python3' },
  javascript: { name: 'Node.js 18 or newer', install: 'apt-get install nodejs, apk add nodejs or dnf install nodejs' },
  bash: { name: 'bash', install: 'apt-get install bash' },
};

/** `instead` is what was found that is too old. */
export function noInterpreter(language: ScriptLanguage, instead: string): HermeticError {
  const { name, install } = wanted[language];
  const found = instead === '' ? '' : ` (${instead})`;
  return new HermeticError('tool/failed', `There is no ${name} in this sandbox${found}. The script was not run.`, {
    hint: `Install it in the sandbox (${install}), use an image that has it, or write the script in another language; bash is always there.`,
  });
}
