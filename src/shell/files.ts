import { randomBytes } from 'node:crypto';
import { HermeticError } from '../core/errors.ts';
import type { ExecHandle, ExecRequest } from '../core/sandbox.ts';
import { ByteStore } from '../lib/byte-store.ts';
import { printable } from '../lib/printable.ts';
import { limitTime } from './time-limit.ts';

/** More than this is for the sandbox to work on, not for the host to hold in memory. */
const mostBytes = 64 * 1024 * 1024;
/** No file is so large that it takes longer. */
const patienceMs = 120_000;
const noFile = 91;
const isDirectory = 92;
const notAFile = 93;
const tooLarge = 94;

const readScript = `
if [[ -d $1 ]]; then exit ${isDirectory}; fi
if [[ ! -e $1 ]]; then exit ${noFile}; fi
if [[ ! -f $1 ]]; then exit ${notAFile}; fi
if [[ -n $(find -L "$1" -maxdepth 0 -size +${mostBytes}c) ]]; then exit ${tooLarge}; fi
cat <"$1"`;

// The length is checked, because a host that died in the middle looks to `cat` like the end of the data.
const writeScript = `
target=$1 length=$2 temporary=.hermetic-$3 mask=$4
if [[ -L $target ]]; then
  target=$(readlink -f -- "$target" && printf x) || { echo 'its link leads nowhere' >&2; exit 1; }
  target=\${target%?x}
fi
if [[ -d $target || $target == */ ]]; then exit ${isDirectory}; fi
if [[ -e $target && ! -f $target ]]; then exit ${notAFile}; fi
case $target in
  */*) directory=\${target%/*}/ ;;
  *) directory=./ target=./$target ;;
esac
if [[ ! -d $directory ]]; then mkdir -p -- "$directory" || exit 1; fi
temporary=$directory$temporary
trap 'rm -f -- "$temporary"' EXIT
umask 077
cat >"$temporary" || exit 1
printf -v mode %o $((0666 & ~0$mask))
read -r size owner <<<"$(stat -c '%s %u:%g' -- "$temporary")"
[[ $size == "$length" ]] || { echo 'the data did not arrive whole' >&2; exit 1; }
if [[ -e $target ]]; then
  read -r mode wanted <<<"$(stat -c '%a %u:%g' -- "$target")"
  [[ $wanted == "$owner" ]] || chown "$wanted" -- "$temporary" 2>/dev/null
fi
chmod "$mode" -- "$temporary" || exit 1
mv -fT -- "$temporary" "$target" || exit 1
trap - EXIT`;

type Exec = (request: ExecRequest) => Promise<ExecHandle>;

export async function readFileIn(exec: Exec, path: string, withinMs = patienceMs): Promise<Buffer> {
  const handle = await exec({ command: readScript, args: [anchored(path)], stateless: true });
  return await collect(handle, path, 'read', withinMs);
}

/** `umask` is the session's, as bash prints it. */
export async function writeFileIn(exec: Exec, path: string, data: Uint8Array | string, umask: string): Promise<void> {
  const bytes = Buffer.from(data as Uint8Array);
  const args = [anchored(path), String(bytes.length), randomBytes(6).toString('hex'), /\d+$/.exec(umask)?.[0] ?? '022'];
  const handle = await exec({ command: writeScript, args, stdin: 'open', stateless: true });
  const written = handle.write(bytes).then(() => handle.closeStdin());
  await Promise.all([collect(handle, path, 'written', patienceMs), written]);
}

/** So that no name can be taken for an option. */
function anchored(path: string): string {
  return path.startsWith('/') ? path : `./${path}`;
}

async function collect(handle: ExecHandle, path: string, done: string, withinMs: number): Promise<Buffer> {
  const endTimeLimit = limitTime(handle, withinMs);
  const stdout = new ByteStore(mostBytes);
  let isTooMuch = false;
  let stderr = '';
  for await (const { stream, data } of handle.output) {
    if (stream === 'stderr') {
      stderr = (stderr + data.toString()).slice(-2000);
      continue;
    }
    // Security: what the sandbox says about the size of a file means nothing here.
    isTooMuch = !stdout.push(data);
    if (isTooMuch) break;
  }
  if (isTooMuch) await handle.kill('KILL');
  const exit = await handle.exit;
  if (endTimeLimit()) throw new HermeticError('file/failed', `${path} could not be ${done} in ${withinMs / 1000} s.`);
  if (exit.kind === 'lost') throw new HermeticError('sandbox/lost', `${path} was not ${done}: ${exit.reason}`);
  const code = exit.kind === 'exited' ? exit.code : undefined;
  if (isTooMuch || code === tooLarge) throw new HermeticError('file/failed', `${path} is larger than ${mostBytes / 1024 / 1024} MiB.`);
  if (code === 0) return stdout.take();
  if (code === noFile) throw new HermeticError('file/no-file', `There is no file ${path} in the sandbox.`);
  if (code === isDirectory) throw new HermeticError('file/is-directory', `${path} is a directory.`);
  if (code === notAFile) throw new HermeticError('file/failed', `${path} is not a regular file.`);
  // Security: what the sandbox complains of is read by people, and a terminal obeys some characters.
  const why = printable(stderr) || (exit.kind === 'signaled' ? `killed by ${exit.signal}` : `code ${code}`);
  throw new HermeticError('file/failed', `${path} could not be ${done}: ${why}`);
}
