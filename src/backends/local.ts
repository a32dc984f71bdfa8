import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type {
  Backend,
  Check,
  DiskUse,
  Enforcement,
  ListedSandbox,
  OpenListener,
  OpenSandbox,
  Places,
  SandboxSpec,
} from '../core/sandbox.ts';
import { hostBash } from '../lib/guest-files.ts';
import { started } from '../lib/started.ts';
import { forkerCommand, noLease } from '../shell/pipes/run-directory.ts';
import { type ForkerProcess, listChildProcessSandboxes, openChildProcessSandbox } from './child-process-sandbox.ts';
import type { BackendContext } from './context.ts';
import { diskUseOf } from './disk-use.ts';
import type { BackendDriver } from './driver.ts';
import { pathsIn } from './sandbox-directory.ts';
import { unenforcedLimits } from './unenforced-limits.ts';
import { userName } from './user-name.ts';
import { workdirInside } from './workdir.ts';

const noIsolation = 'local runs commands on the host itself';
const unlimited = { enforced: false, how: noIsolation };
const limits: Enforcement = { cpus: unlimited, memoryMb: unlimited, diskMb: unlimited, pids: unlimited };

/** The forker alone knows what it started. */
const endDeadlineMs = 10_000;

/** The few variables a program on the host cannot do without. */
const allowed = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'XDG_RUNTIME_DIR'];

export const local: BackendDriver = {
  kind: 'local',
  summary: 'No isolation: commands run on the host as you. For your own machine and your own commands.',
  options: z.strictObject({}),
  create: (context) => new LocalBackend(context),
};

class LocalBackend implements Backend {
  readonly kind = 'local';
  readonly traits = {
    isolation: 'none',
    disposable: false,
    durable: false,
    seesDisk: false,
    hostAliases: [],
    insists: undefined,
    installing: 'What you install is installed on the machine itself: ask before you do.',
    honours: {
      image: 'local has no image',
      mounts: `${noIsolation}, where every directory is there already`,
      'host-user': true,
      'network-none': `${noIsolation}, which has its network`,
      'network-open': true,
      ephemeral: true,
    },
  } as const;
  readonly settings = [];
  readonly #context: BackendContext;

  constructor(context: BackendContext) {
    this.#context = context;
  }

  async check(): Promise<Check> {
    if (process.platform !== 'linux') {
      return { usable: false, code: 'backend/unavailable', reason: 'local needs Linux', fix: 'Use the docker backend.' };
    }
    if (await this.#hasBash())
      return { usable: true, summary: 'runs commands on the host, without isolation', limits, notes: [`Warning: ${noIsolation}.`] };
    return {
      usable: false,
      code: 'backend/unavailable',
      reason: 'bash 5 or newer is not installed',
      fix: 'apt-get install bash coreutils',
    };
  }

  async #hasBash(): Promise<boolean> {
    try {
      const options = { stdio: 'ignore', env: this.#environment({}) } as const;
      const [code] = await once(started(spawn('bash', ['-c', await hostBash('local-check')], options)), 'exit');
      return code === 0;
    } catch {
      return false;
    }
  }

  async canRestrict(): Promise<true | string> {
    return `${noIsolation}, which has its network`;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    const { workdir } = this.places(spec);
    const start = async (runDirectory: string, isNew: boolean): Promise<ForkerProcess> => {
      if (isNew) for (const sentence of unenforcedLimits(spec.limits, limits, this.traits)) listener.notice(sentence);
      const [program = '', ...args] = forkerCommand(runDirectory, noLease, { processes: 'shared' });
      // A sign by which session-process.ts knows a command of a session, and named-processes.ts its processes.
      const child = started(
        spawn(program, args, {
          cwd: '/',
          env: { ...this.#environment(spec.env), HERMETIC_IN_SESSION: spec.name },
          stdio: 'ignore',
          detached: true,
        }),
      );
      return { child, limits: undefined, release: async () => undefined };
    };
    return await openChildProcessSandbox({ spec, workdir, start, endDeadlineMs }, signal);
  }

  places({ env, directory, workdir }: SandboxSpec): Places {
    const home = this.#environment(env).HOME;
    return { home, workdir: workdirInside(workdir, { home, workspace: pathsIn(directory).workspace }) };
  }

  /** Everything is there already, and nothing can be shown read-only. */
  async received(): Promise<undefined> {
    return undefined;
  }

  diskUse({ directory }: SandboxSpec): Promise<DiskUse> {
    return diskUseOf([directory], []);
  }

  list(): Promise<ListedSandbox[]> {
    return listChildProcessSandboxes(join(this.#context.sandboxesDirectory, this.kind), endDeadlineMs);
  }

  /** Security: an allowlist. The gateway's own environment holds its keys. */
  #environment(extra: Readonly<Record<string, string>>): Record<string, string> & { HOME: string } {
    const { environment } = this.#context;
    const kept = Object.fromEntries(allowed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])));
    const usual = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: homedir(), USER: userName(), LANG: 'C.UTF-8' };
    return { ...usual, ...kept, ...extra };
  }
}
