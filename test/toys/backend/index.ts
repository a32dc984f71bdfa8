import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type ForkerProcess, listChildProcessSandboxes, openChildProcessSandbox } from '../../../src/backends/child-process-sandbox.ts';
import type { BackendContext } from '../../../src/backends/context.ts';
import { diskUseOf } from '../../../src/backends/disk-use.ts';
import type { BackendDriver } from '../../../src/backends/driver.ts';
import { pathsIn } from '../../../src/backends/sandbox-directory.ts';
import type { Backend, Check, DiskUse, ListedSandbox, OpenListener, OpenSandbox, Places, SandboxSpec } from '../../../src/core/sandbox.ts';
import { started } from '../../../src/lib/started.ts';
import { forkerCommand, noLease } from '../../../src/shell/pipes/run-directory.ts';
import { toyOptions } from './options.ts';

export const toy: BackendDriver<typeof toyOptions> = {
  kind: 'toy',
  summary: 'A toy: commands run on the host, greeted.',
  options: toyOptions,
  create: (context, { toy_greeting: greeting }) => new ToyBackend(context, greeting),
};

const why = 'toy runs commands on the host itself';
const unlimited = { enforced: false, how: why };
const endDeadlineMs = 10_000;

class ToyBackend implements Backend {
  readonly kind = 'toy';
  readonly traits = {
    isolation: 'none',
    disposable: false,
    durable: false,
    seesDisk: false,
    hostAliases: [],
    insists: undefined,
    installing: 'Nothing can be installed in a toy.',
    honours: {
      image: 'toy has no image',
      mounts: why,
      'host-user': true,
      'network-none': why,
      'network-open': true,
      ephemeral: true,
    },
  } as const;
  readonly settings: readonly string[];
  readonly #context: BackendContext;
  readonly #greeting: string;

  constructor(context: BackendContext, greeting: string) {
    this.#context = context;
    this.#greeting = greeting;
    this.settings = [greeting];
  }

  async check(): Promise<Check> {
    const limits = { cpus: unlimited, memoryMb: unlimited, diskMb: unlimited, pids: unlimited };
    return { usable: true, summary: 'greets', limits, notes: [] };
  }

  async canRestrict(): Promise<true | string> {
    return why;
  }

  async open(spec: SandboxSpec, _listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    const { home, workdir } = this.places(spec);
    const env = { PATH: this.#context.environment.PATH ?? '/usr/bin:/bin', HOME: home, GREETING: this.#greeting, ...spec.env };
    const start = async (runDirectory: string): Promise<ForkerProcess> => {
      const [program = '', ...args] = forkerCommand(runDirectory, noLease, { processes: 'shared' });
      const child = started(spawn(program, args, { cwd: '/', env, stdio: 'ignore', detached: true }));
      return { child, limits: undefined, release: async () => undefined };
    };
    return await openChildProcessSandbox({ spec, workdir, start, endDeadlineMs }, signal);
  }

  places({ directory }: SandboxSpec): Places {
    const { home, workspace } = pathsIn(directory);
    return { home, workdir: workspace };
  }

  async received(): Promise<undefined> {
    return undefined;
  }

  diskUse({ directory }: SandboxSpec): Promise<DiskUse> {
    return diskUseOf([directory], []);
  }

  list(): Promise<ListedSandbox[]> {
    return listChildProcessSandboxes(join(this.#context.sandboxesDirectory, this.kind), endDeadlineMs);
  }
}
