import { join } from 'node:path';
import type { Driver } from '../../core/driver.ts';
import type { Backend, Check, OpenListener, OpenSandbox, Remains, SandboxSpec } from '../../core/sandbox.ts';
import type { BackendContext } from '../context.ts';
import { directoryBytes, pathsIn } from '../sandbox-directory.ts';
import { forkerCommand } from '../shell/run-directory.ts';
import { listTied, openTied, type TiedProcess } from '../tied-sandbox.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { enforcementHere, probe } from './probe.ts';
import { startBubblewrap } from './start.ts';

const noNetwork = 'bubblewrap has no way to contain one yet';

/** Everything inside ends with bubblewrap, however that ends. */
const endPatienceMs = 0;

export const bubblewrap: Driver<BackendContext, Backend> = {
  kind: 'bubblewrap',
  summary: 'Kernel namespaces and a system call filter on this machine: no daemon, no image. The embedded default.',
  create: (context) => new BubblewrapBackend(context),
};

class BubblewrapBackend implements Backend {
  readonly kind = 'bubblewrap';
  readonly traits = {
    isolation: 'process',
    disposable: true,
    durable: false,
    honours: {
      image: 'bubblewrap shows the programs of this machine and has no image',
      mounts: true,
      'host-user': 'bubblewrap always runs as a user of its own',
      'network-none': true,
      'network-restricted': `no network: ${noNetwork}`,
      'network-open': `no network: ${noNetwork}`,
      ephemeral: true,
    },
  } as const;
  readonly #context: BackendContext;

  constructor(context: BackendContext) {
    this.#context = context;
  }

  async check(): Promise<Check> {
    const answer = await probe();
    if (!answer.ok) return { usable: false, code: answer.code, reason: answer.reason, fix: answer.fix };
    return {
      usable: true,
      summary: 'namespaces and seccomp, no daemon',
      limits: await enforcementHere(),
      notes: [`Its sandboxes have no network: ${noNetwork}.`],
    };
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    const paths = pathsIn(spec.directory);
    const start = async (runDirectory: string, isNew: boolean): Promise<TiedProcess> => {
      const { child, enforcement, release } = await startBubblewrap({
        name: spec.name,
        installation: this.#context.installation,
        runDirectory,
        workspace: paths.workspace,
        home: paths.home,
        mounts: spec.mounts,
        env: spec.env,
        limits: spec.limits,
        command: forkerCommand('/run/hermetic', 0),
      });
      if (isNew) {
        for (const sentence of unenforcedLimits(spec.limits, enforcement)) listener.notice(sentence);
        if (spec.network === undefined) listener.notice(`This sandbox has no network: ${noNetwork}.`);
      }
      for (const stream of [child.stdout, child.stderr]) stream?.resume();
      return { child, release };
    };
    return await openTied({ spec, workdir: spec.workdir ?? '/workspace', start, endPatienceMs }, signal);
  }

  diskBytes({ directory }: SandboxSpec): Promise<number> {
    return directoryBytes(directory);
  }

  list(): Promise<Remains[]> {
    return listTied(join(this.#context.sandboxesDirectory, this.kind), endPatienceMs);
  }
}
