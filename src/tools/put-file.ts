import type { Sandbox } from '../core/sandbox.ts';
import { plainName } from '../lib/plain-name.ts';
import { askToSucceed } from './ask-sandbox.ts';

/** In the home of the session; a file that has the name of another gets a number. Nothing there is meant to be changed. */
const script = `
umask 022
mkdir -p ~/incoming && cd ~/incoming || exit 1
name=$1 number=1
while [[ -e $name || -L $name ]]; do
  number=$((number + 1)) name=$number-$1
done
cat >"$name" && chmod 444 -- "$name" || exit 1
printf '%s/%s' "$PWD" "$name"`;

/** Puts what a person sent into the sandbox. Resolves with the path inside. */
export async function putFile(sandbox: Sandbox, name: string, data: Uint8Array): Promise<string> {
  // Security: whoever sends a file chooses its name.
  const request = { command: script, args: [plainName(name)] };
  return (await askToSucceed(sandbox, request, { stdin: data, timeoutMs: 60_000 })).toString();
}
