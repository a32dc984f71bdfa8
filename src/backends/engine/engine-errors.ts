import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { Refusal } from '../refusal.ts';
import { certificateError } from './certificates.ts';
import { errnoOf } from './errno.ts';
import type { EngineProduct } from './product.ts';
import { sshFailure } from './ssh-way.ts';

interface Rule {
  status?: number;
  matches: RegExp;
  code: ErrorCode;
  /** `{docker}` stands for the kind of the engine. */
  hint?: string;
}

/** The first rule that fits decides, so special cases come first. */
const rules: readonly Rule[] = [
  {
    matches: /no space left on device/i,
    code: 'sandbox/open-failed',
    hint: 'The disk of the engine is full. See `{docker} system df`; `{docker} system prune` frees space.',
  },
  {
    status: 404,
    matches: /no such image|image.* not found/i,
    code: 'sandbox/no-image',
    hint: 'Pull the image, or name another one in terminal.{docker}_image.',
  },
  {
    matches: /network .*not found/i,
    code: 'config/bad-value',
    hint: 'Create the network with `{docker} network create`, or change --network in terminal.docker_extra_args.',
  },
  { status: 404, matches: /./, code: 'sandbox/not-found' },
  {
    status: 409,
    matches: /already in use by container/i,
    code: 'sandbox/in-use',
    hint: 'Another program is making the same sandbox, or a container of the same name was left behind.',
  },
  { status: 409, matches: /is not running|is paused/i, code: 'sandbox/lost' },
  { status: 403, matches: /./, code: 'backend/not-permitted', hint: 'An authorization rule of the engine forbids it.' },
  {
    matches: /unknown or invalid runtime|unknown runtime/i,
    code: 'backend/cannot-honour',
    hint: 'The runtimes of the engine are listed by `{docker} info`. Change terminal.docker_runtime.',
  },
  { matches: /range of cpus is from/i, code: 'backend/cannot-honour', hint: 'Lower terminal.container_cpu.' },
  { matches: /minimum memory limit/i, code: 'backend/cannot-honour', hint: 'Raise terminal.container_memory.' },
  {
    matches: /storage-opt|pquota|storage driver does not support/i,
    code: 'backend/cannot-honour',
    hint: 'This engine cannot limit disk space. Set terminal.container_disk to 0.',
  },
  {
    matches: /bind source path does not exist/i,
    code: 'config/bad-value',
    hint: 'The engine cannot see this directory. It must exist on the machine the engine runs on.',
  },
  {
    matches: /mounts denied|not shared from the host/i,
    code: 'config/bad-value',
    hint: 'Share the directory in the settings of Docker Desktop: Resources, File sharing.',
  },
  {
    matches: /docker-init/i,
    code: 'backend/unavailable',
    hint: 'The engine lacks its init program. On Debian and Ubuntu: sudo apt-get install tini',
  },
  { matches: /client version .* is too (old|new)/i, code: 'backend/unavailable', hint: 'Update the engine.' },
  {
    matches: /HTTP request to an HTTPS server/i,
    code: 'backend/unavailable',
    hint: 'The engine wants TLS: write its address as https://HOST:PORT, or name its certificates.',
  },
  {
    matches: /operation not permitted|permission denied/i,
    code: 'sandbox/open-failed',
    hint: 'The engine itself lacks a permission. Does it run rootless, or inside another container?',
  },
];

export function refusalError(status: number, message: string, { name, kind }: EngineProduct): HermeticError {
  const rule = rules.find(
    (candidate) => (candidate.status === undefined || candidate.status === status) && candidate.matches.test(message),
  );
  return new HermeticError(
    rule?.code ?? 'sandbox/open-failed',
    `The ${name} engine refused: ${message.trim() || `HTTP status ${status}`}`,
    {
      hint: rule?.hint?.replaceAll('{docker}', kind),
      cause: new Refusal(status, message),
    },
  );
}

/** The connection failed, so a request under way may have had its effect or not. */
export function connectionError(error: unknown, where: string, { name, permit, start }: EngineProduct): HermeticError {
  const code = errnoOf(error);
  if (code === 'EACCES' || code === 'EPERM') {
    return new HermeticError('backend/not-permitted', `This user may not use the ${name} engine at ${where}.`, {
      hint: permit,
      cause: error,
    });
  }
  const reason = errorText(error);
  return (
    sshFailure(error, name) ??
    certificateError(error, where, name) ??
    new HermeticError('backend/not-running', `The ${name} engine at ${where} does not answer (${reason}).`, { hint: start, cause: error })
  );
}
