import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Driver } from '../core/driver.ts';
import { HermeticError } from '../core/errors.ts';
import type { Backend, Check, Enforcement, OpenSandbox, Remains, SandboxSpec } from '../core/sandbox.ts';
import type { BackendContext } from './context.ts';
import { attachToForker } from './forked-sandbox.ts';
import { listRecords, makeSandboxDirectory, pathsIn, removeTree } from './sandbox-directory.ts';
import { attachmentName, liveAttachments } from './shell/attachments.ts';
import { forkerCommand, makeRunDirectory } from './shell/run-directory.ts';
import { fileStateStore, memoryStateStore } from './shell/state-store.ts';

const noIsolation = 'local runs commands on the host itself';
const unlimited = { enforced: false, how: `not enforced: ${noIsolation}` };
const limits: Enforcement = { cpus: unlimited, memoryMb: unlimited, diskMb: unlimited, pids: unlimited };

/** The few variables a program on the host cannot do without. */
const allowed = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'XDG_RUNTIME_DIR'];

export const local: Driver<BackendContext, Backend> = {
  kind: 'local',
  summary: 'No isolation: commands run on the host as you. For your own machine and your own commands.',
  create: (context) => new LocalBackend(context),
};

class LocalBackend implements Backend {
  readonly kind = 'local';
  readonly traits = {
    isolation: 'none',
    disposable: false,
    durable: false,
    honours: {
      image: 'local has no image',
      mounts: `${noIsolation}, where every directory is there already`,
      'host-user': true,
      'network-none': `${noIsolation}, which has its network`,
      'network-restricted': `${noIsolation}, which has its network`,
      'network-open': true,
      ephemeral: true,
    },
  } as const;
  readonly #context: BackendContext;

  constructor(context: BackendContext) {
    this.#context = context;
  }

  async check(): Promise<Check> {
    if (process.platform !== 'linux') {
      return { usable: false, code: 'backend/unavailable', reason: 'local needs Linux', fix: 'Use the docker backend.' };
    }
    const child = spawn('bash', ['-c', '((BASH_VERSINFO[0] >= 5)) && command -v mkfifo'], { stdio: 'ignore', env: this.#environment({}) });
    const [code] = (await Promise.race([once(child, 'exit'), once(child, 'error')])) as [unknown];
    if (code === 0) return { usable: true, summary: 'runs commands on the host, without isolation', limits, notes: [`Warning: ${noIsolation}.`] };
    return { usable: false, code: 'backend/unavailable', reason: 'bash 5 or newer is not installed', fix: 'apt-get install bash coreutils' };
  }

  async open(spec: SandboxSpec, _listener: unknown, signal?: AbortSignal): Promise<OpenSandbox> {
    await makeSandboxDirectory(spec);
    const paths = pathsIn(spec.directory);
    liveAttachments(paths.run);
    const runDirectory = join(paths.run, attachmentName());
    const workdir = spec.workdir ?? paths.workspace;
    await mkdir(workdir, { recursive: true });
    await makeRunDirectory(runDirectory);
    const [program = 'bash', ...args] = forkerCommand(runDirectory, 0);
    const child = spawn(program, args, { cwd: '/', env: this.#environment(spec.env), stdio: 'ignore', detached: true });
    const ended = Promise.race([once(child, 'exit'), once(child, 'error')]).then(
      () => 'the shells of this session were ended',
      (error: Error) => error.message,
    );
    child.unref();
    const end = async (): Promise<void> => {
      await ended;
      await removeTree(runDirectory);
      if (!spec.persistent) await removeTree(spec.directory);
    };
    try {
      return await attachToForker(
        {
          name: spec.name,
          runDirectory,
          workdir,
          ended,
          end: async () => {
            if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
            await end();
          },
          // The forker ends what it started when it notices that nobody is attached any more.
          close: end,
          destroy: () => removeTree(spec.directory),
        },
        spec.persistent ? fileStateStore(paths.state) : memoryStateStore(),
        signal,
      );
    } catch (error) {
      throw new HermeticError('sandbox/open-failed', `The local shell could not be started: ${(error as Error).message}`, { cause: error });
    }
  }

  async list(): Promise<Remains[]> {
    const records = await listRecords(join(this.#context.sandboxesDirectory, this.kind));
    return records.map((record) => ({
      ...record,
      state: liveAttachments(pathsIn(record.directory).run).length > 0 ? 'running' : 'stopped',
      destroy: () => removeTree(record.directory),
    }));
  }

  /** Security: an allowlist. The gateway's own environment holds its keys. */
  #environment(extra: Readonly<Record<string, string>>): Record<string, string> {
    const { environment } = this.#context;
    const kept = Object.fromEntries(allowed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])));
    return { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: homedir(), USER: userInfo().username, LANG: 'C.UTF-8', ...kept, ...extra };
  }
}
