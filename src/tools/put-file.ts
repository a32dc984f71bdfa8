import type { Sandbox } from '../core/sandbox.ts';
import { plainName } from '../lib/plain-name.ts';
import { askToSucceed } from '../shell/ask-sandbox.ts';

/**
 * In the home of the session. What is there already under its name is not put there again; another file of that name leaves it a number. Nothing
 * there is meant to be changed.
 */
const script = `
umask 022
mkdir -p ~/incoming && cd ~/incoming || exit 1
draft=$(mktemp .XXXXXXXXXX) || exit 1
trap 'rm -f -- "$draft"' EXIT
cat >"$draft" && chmod 444 -- "$draft" || exit 1
name=$1 number=1
same() { [[ -f $name && ! -L $name ]] && cmp -s -- "$draft" "$name"; }
while [[ -e $name || -L $name ]] && ! same; do
  number=$((number + 1)) name=$number-$1
done
same || mv -- "$draft" "$name" || exit 1
printf '%s/%s' "$PWD" "$name"`;

/**
 * Puts what a person sent into a sandbox in which no directory of the host can be shown. Resolves with the path inside. File modes are all that keeps
 * the agent from changing it.
 */
export async function putFile(sandbox: Sandbox, name: string, data: Uint8Array): Promise<string> {
  // Security: whoever sends a file chooses its name.
  const request = { command: script, args: [plainName(name)] };
  return (await askToSucceed(sandbox, request, { stdin: data, timeoutMs: 60_000 })).toString();
}
