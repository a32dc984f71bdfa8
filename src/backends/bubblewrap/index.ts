import { join } from 'node:path';
import * as z from 'zod';
import type {
  Backend,
  Check,
  DiskUse,
  ListedSandbox,
  OpenListener,
  OpenSandbox,
  Places,
  ReceivedFiles,
  SandboxSpec,
} from '../../core/sandbox.ts';
import { forkerCommand, maxForCommands, noLease } from '../../shell/pipes/run-directory.ts';
import { childProcessDiskUse, type ForkerProcess, listChildProcessSandboxes, openChildProcessSandbox } from '../child-process-sandbox.ts';
import type { BackendContext } from '../context.ts';
import type { BackendDriver } from '../driver.ts';
import { enforcementHere } from '../namespaces/enforcement-here.ts';
import type { NetworkChoice } from '../namespaces/network.ts';
import { openNetworkObstacle } from '../namespaces/open-network.ts';
import { restrictedNetworkObstacle } from '../namespaces/restricted-network.ts';
import { countsApart } from '../namespaces/stage.ts';
import { receivedInside } from '../received-files.ts';
import { pathsIn } from '../sandbox-directory.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { workdirInside } from '../workdir.ts';
import { homeInside, workspaceInside } from './arguments.ts';
import { probe } from './probe.ts';
import { startBubblewrap } from './start.ts';

/** Everything inside ends with bubblewrap, however that ends. */
const endDeadlineMs = 0;

export const bubblewrap: BackendDriver = {
  kind: 'bubblewrap',
  summary: 'Kernel namespaces and a system call filter on this machine: no daemon, no image. The embedded default.',
  options: z.strictObject({}),
  auto: {},
  create: (context) => new BubblewrapBackend(context),
};

class BubblewrapBackend implements Backend {
  readonly kind = 'bubblewrap';
  readonly traits = {
    isolation: 'process',
    disposable: true,
    durable: false,
    seesDisk: true,
    hostAliases: ['10.0.2.2'],
    insists: undefined,
    installing:
      'It has the programs of the machine it runs on, read-only, and no root, so apt does not work. `pip install` and `npm install -g` write to ~/.local, which is on the PATH.',
    honours: {
      image: 'bubblewrap shows the programs of this machine and has no image',
      mounts: true,
      'host-user': 'bubblewrap always runs as its own user',
      'network-none': true,
      /** Looked up each time, so that what is installed meanwhile counts. */
      get 'network-open'(): true | string {
        const obstacle = openNetworkObstacle();
        return obstacle === undefined ? true : `no network: ${obstacle}`;
      },
      ephemeral: true,
    },
  } as const;
  readonly settings = [];
  readonly #context: BackendContext;

  constructor(context: BackendContext) {
    this.#context = context;
  }

  async check(): Promise<Check> {
    const [answer, ...notes] = await Promise.all([probe(), openNote(), this.#restrictedNote()]);
    if (!answer.ok) return { usable: false, code: answer.code, reason: answer.reason, fix: answer.fix };
    return { usable: true, summary: 'namespaces and seccomp, no daemon', limits: await enforcementHere('bubblewrap'), notes };
  }

  /** Security: what a trial would tell is not asked. A failure of the moment would make the network of a sandbox an open one. */
  async canRestrict(): Promise<true | string> {
    return restrictedNetworkObstacle() ?? true;
  }

  async #restrictedNote(): Promise<string> {
    const obstacle = restrictedNetworkObstacle();
    if (obstacle !== undefined) return `Their network cannot be restricted: ${obstacle}.`;
    const answer = await probe({ egress: this.#context.egress });
    if (answer.ok) return 'Their network can be restricted to chosen hosts.';
    return `Their network cannot be restricted: ${answer.reason} Until that is solved, set terminal.network to open or none.`;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    const paths = pathsIn(spec.directory);
    const obstacle = spec.network === undefined ? openNetworkObstacle() : undefined;
    const wanted = spec.network ?? (obstacle === undefined ? 'open' : 'none');
    const network: NetworkChoice = wanted === 'restricted' ? { egress: this.#context.egress } : wanted;
    const start = async (runDirectory: string, isNew: boolean): Promise<ForkerProcess> => {
      const commandProcesses = countsApart() ? maxForCommands(spec.limits.pids) : 0;
      const { child, enforcement, counter, door, release } = await startBubblewrap({
        name: spec.name,
        installation: this.#context.installation,
        runDirectory,
        workspace: paths.workspace,
        home: paths.home,
        mounts: [...spec.mounts, { source: paths.received, target: receivedInside, readOnly: true }],
        env: spec.env,
        limits: spec.limits,
        network,
        command: forkerCommand('/run/hermetic', noLease, { processes: 'own', maxForCommands: commandProcesses }),
      });
      if (isNew) {
        for (const sentence of unenforcedLimits(spec.limits, enforcement, this.traits)) listener.notice(sentence);
        if (obstacle !== undefined) tellOfMissingNetwork(listener, obstacle);
      }
      for (const stream of [child.stdout, child.stderr]) stream?.resume();
      return { child, limits: { read: counter(commandProcesses), isCheap: true, isNew: true }, network: door, release };
    };
    return await openChildProcessSandbox({ spec, workdir: this.places(spec).workdir, start, endDeadlineMs }, signal);
  }

  places({ env, workdir }: SandboxSpec): Places {
    const home = env.HOME ?? homeInside;
    return { home, workdir: workdirInside(workdir, { home, workspace: workspaceInside }) };
  }

  async received({ directory }: Pick<SandboxSpec, 'directory'>): Promise<ReceivedFiles> {
    return { directory: pathsIn(directory).received, inside: receivedInside };
  }

  diskUse({ directory }: SandboxSpec): Promise<DiskUse> {
    return childProcessDiskUse(directory);
  }

  list(): Promise<ListedSandbox[]> {
    return listChildProcessSandboxes(join(this.#context.sandboxesDirectory, this.kind), endDeadlineMs);
  }
}

async function openNote(): Promise<string> {
  const obstacle = openNetworkObstacle();
  if (obstacle !== undefined) return `Its sandboxes cannot have an open network: ${obstacle}.`;
  const answer = await probe('open');
  if (answer.ok) return 'Its sandboxes reach the network through slirp4netns, and not the loopback of this machine.';
  return `Its sandboxes cannot have an open network: ${answer.reason} Until that is solved, set terminal.network to none.`;
}

/** In the chat too: people would otherwise look for the fault in what they asked. */
function tellOfMissingNetwork(listener: OpenListener, obstacle: string): void {
  const text = `This sandbox has no network: ${obstacle}.`;
  listener.notice(text, text);
}
