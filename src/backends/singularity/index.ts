import { constants } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
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
import { forkerCommand, noLease } from '../../shell/pipes/run-directory.ts';
import { cannotRestrict } from '../cannot-restrict.ts';
import { childProcessDiskUse, type ForkerProcess, listChildProcessSandboxes, openChildProcessSandbox } from '../child-process-sandbox.ts';
import type { BackendContext } from '../context.ts';
import type { BackendDriver } from '../driver.ts';
import { failedCheck } from '../failed-check.ts';
import { enforcementHere } from '../namespaces/enforcement-here.ts';
import { restrictedNetworkObstacle } from '../namespaces/restricted-network.ts';
import { findProgram, isAccessible } from '../programs.ts';
import { receivedInside } from '../received-files.ts';
import { pathsIn } from '../sandbox-directory.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { workdirInside } from '../workdir.ts';
import { homeInside, runInside, workspaceInside } from './arguments.ts';
import { probe } from './check.ts';
import { notInstalled } from './failures.ts';
import { ensureImage, findImage } from './image.ts';
import { type SingularityOptions, singularityOptions } from './options.ts';
import { takeOwnPlaces } from './own-places.ts';
import { type ContainerOptions, startSingularity } from './start.ts';

/** Everything inside ends with Apptainer, however that ends. */
const endDeadlineMs = 0;

/** slirp4netns, which connects bubblewrap, cannot lock itself up in the namespaces that Apptainer makes without root. */
const noOpenNetwork = 'the only open network that Apptainer has without root is that of the host, with its loopback';

const overlayInUse =
  'Another program has this session open, so changes of this sandbox outside of home and workspace last only until it ends.';

export const singularity: BackendDriver<typeof singularityOptions> = {
  kind: 'singularity',
  summary: 'A container of any image by Apptainer, without a daemon and without root, as on computing clusters.',
  options: singularityOptions,
  image: ({ singularity_image: image }) => image,
  create: (context, options) => new SingularityBackend(context, options),
};

class SingularityBackend implements Backend {
  readonly kind = 'singularity';
  readonly traits = {
    isolation: 'process',
    disposable: true,
    durable: false,
    seesDisk: true,
    hostAliases: [],
    insists: undefined,
    installing:
      'It has the programs of its image and no root, so apt does not work. `pip install` and `npm install -g` write to ~/.local, which is on the PATH.',
    honours: {
      image: true,
      mounts: true,
      'host-user': 'the singularity backend runs as the user of Hermetic, and as one of its own where that is root',
      'network-none': true,
      'network-open': noOpenNetwork,
      ephemeral: true,
    },
  } as const;
  readonly settings: readonly string[];
  readonly #context: BackendContext;
  readonly #options: SingularityOptions;

  constructor(context: BackendContext, options: SingularityOptions) {
    this.#context = context;
    this.#options = options;
    this.settings = [String(options.singularity_overlay)];
  }

  async check(image = this.#options.singularity_image): Promise<Check> {
    try {
      const program = this.#program();
      const found = await findImage(image, this.#images());
      await probe(program, found?.directory, this.#options.singularity_overlay);
      const notes = found ? [] : [`The image ${image} is not there yet; it is converted on first use.`];
      const limits = await enforcementHere('Apptainer');
      return { usable: true, summary: `${program}, image ${image}`, limits, notes: [...notes, this.#restrictedNote()] };
    } catch (error) {
      return failedCheck(error, 'Use the bubblewrap or the docker backend.');
    }
  }

  #restrictedNote(): string {
    const obstacle = restrictedNetworkObstacle();
    if (obstacle !== undefined) return `Their network cannot be restricted: ${obstacle}.`;
    return 'Their network can be restricted to chosen hosts.';
  }

  async canRestrict(): Promise<true | string> {
    return restrictedNetworkObstacle() ?? true;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    const paths = pathsIn(spec.directory);
    const network = this.#networkOf(spec);
    const program = this.#program();
    const image = await ensureImage(spec.image ?? this.#options.singularity_image, { program, ...this.#images() }, listener, signal);
    const start = async (runDirectory: string, isNew: boolean): Promise<ForkerProcess> => {
      const overlayKey = this.#options.singularity_overlay ? image.key : undefined;
      const { temporary, overlay, isOverlayKept, release: leave } = await takeOwnPlaces(spec.directory, runDirectory, overlayKey);
      const starting = startSingularity({
        program,
        name: spec.name,
        installation: this.#context.installation,
        view: {
          image: image.directory,
          runDirectory,
          workspace: paths.workspace,
          home: paths.home,
          temporary,
          overlay,
          mounts: [...spec.mounts, { source: paths.received, target: receivedInside, readOnly: true }],
        },
        env: spec.env,
        limits: spec.limits,
        network,
        command: forkerCommand(runInside, noLease, { processes: 'own' }),
      });
      const { child, enforcement, counter, door, release } = await starting.catch(async (error: unknown) => {
        await leave();
        throw error;
      });
      if (!isOverlayKept) listener.notice(overlayInUse);
      if (isNew) {
        for (const sentence of unenforcedLimits(spec.limits, enforcement, this.traits)) listener.notice(sentence);
        if (spec.network === undefined) tellOfMissingNetwork(listener);
      }
      return { child, limits: { read: counter(), isCheap: true, isNew: true }, network: door, release: () => release().finally(leave) };
    };
    return await openChildProcessSandbox({ spec, workdir: this.places(spec).workdir, start, endDeadlineMs }, signal);
  }

  #networkOf({ network }: SandboxSpec): ContainerOptions['network'] {
    if (network === 'open') throw new HermeticError('backend/cannot-honour', `This sandbox cannot have an open network: ${noOpenNetwork}.`);
    if (network !== 'restricted') return 'none';
    const obstacle = restrictedNetworkObstacle();
    if (obstacle !== undefined) throw cannotRestrict(this.kind, obstacle);
    return { egress: this.#context.egress };
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

  #program(): string {
    const named = this.#options.singularity_program;
    const program = named === undefined || isAccessible(named, constants.X_OK) ? (named ?? findProgram('apptainer')) : undefined;
    if (program === undefined) throw notInstalled();
    return program;
  }

  #images(): { imageDirectory: string } {
    const { singularity_image_directory: named } = this.#options;
    return { imageDirectory: named ?? join(this.#context.sandboxesDirectory, 'singularity-images') };
  }
}

/** In the chat too: people would otherwise look for the fault in what they asked. */
function tellOfMissingNetwork(listener: OpenListener): void {
  const text = `This sandbox has no network: ${noOpenNetwork}.`;
  listener.notice(`${text} With terminal.network: restricted it reaches chosen hosts.`, text);
}
