import { randomBytes } from 'node:crypto';
import { HermeticError } from '../core/errors.ts';
import type { ExecRequest, Sandbox } from '../core/sandbox.ts';
import { guestBash } from '../lib/guest-files.ts';
import { type AskOptions, collectFrom } from './ask-sandbox.ts';

/** Larger files are for the sandbox to work on, not for the host to hold in memory. */
const maxBytes = 64 * 1024 * 1024;
const maxMegabytes = maxBytes / 1024 / 1024;
/** Room for complaints beside the largest file. */
const maxComplaintBytes = 64 * 1024;
/** The largest file takes less. */
const defaultTimeoutMs = 120_000;

type Exec = Pick<Sandbox, 'exec'>;

export async function readFileIn(sandbox: Exec, path: string, timeoutMs = defaultTimeoutMs): Promise<Buffer> {
  const request = { command: await guestBash('sandbox-read-file'), args: [anchored(path), String(maxBytes)] };
  return await askForFile(sandbox, request, path, 'read', { timeoutMs });
}

/** `umask` is the session's, as bash prints it. */
export async function writeFileIn(sandbox: Exec, path: string, data: Uint8Array | string, umask: string): Promise<void> {
  const bytes = Buffer.from(data as Uint8Array);
  const args = [anchored(path), String(bytes.length), randomBytes(6).toString('hex'), /\d+$/.exec(umask)?.[0] ?? '022'];
  await askForFile(sandbox, { command: await guestBash('sandbox-write-file'), args }, path, 'written', { stdin: bytes });
}

/** So that no name can be taken for an option. */
function anchored(path: string): string {
  return path.startsWith('/') ? path : `./${path}`;
}

async function askForFile(sandbox: Exec, request: ExecRequest, path: string, done: string, options: AskOptions): Promise<Buffer> {
  const failed = (why: string): HermeticError => new HermeticError('file/failed', `${path} could not be ${done}: ${why}`);
  const { end, stdout, stderr } = await collectFrom(sandbox, request, {
    timeoutMs: defaultTimeoutMs,
    maxBytes: maxBytes + maxComplaintBytes,
    ...options,
  });
  switch (end.kind) {
    case 'lost':
      throw new HermeticError('sandbox/lost', `${path} was not ${done}: ${end.reason}`);
    case 'timeout':
      throw failed(`it took longer than ${end.afterMs / 1000} s.`);
    case 'too-much':
    case 'interrupted':
      // Security: the size that the sandbox tells means nothing here.
      throw failed(`the sandbox printed more than ${maxMegabytes} MiB.`);
    case 'signaled':
      throw failed(stderr || `killed by ${end.signal}`);
  }
  // See guest/sandbox-read-file.bash and guest/sandbox-write-file.bash.
  switch (end.code) {
    case 0:
      return stdout;
    case 91:
      throw new HermeticError('file/no-file', `There is no file ${path} in the sandbox.`);
    case 92:
      throw new HermeticError('file/is-directory', `${path} is a directory.`);
    case 93:
      throw new HermeticError('file/failed', `${path} is not a regular file.`);
    case 94:
      throw new HermeticError('file/failed', `${path} is larger than ${maxMegabytes} MiB.`);
    default:
      throw failed(stderr || `code ${end.code}`);
  }
}
