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
  Traits,
} from '../../core/sandbox.ts';
import { restrictedResolver } from '../../egress/environment.ts';
import { withFileLock } from '../../lib/file-lock.ts';
import { guestVersion } from '../../shell/guest-scripts.ts';
import { claim, liveAttachments } from '../../shell/pipes/attachments.ts';
import { makeAttachmentPipes } from '../../shell/pipes/forker.ts';
import { forkerCommand, makeRunDirectory } from '../../shell/pipes/run-directory.ts';
import { keeperCommand } from '../../shell/streams/keeper.ts';
import { cannotRestrict } from '../cannot-restrict.ts';
import type { BackendContext } from '../context.ts';
import { receivedInside } from '../received-files.ts';
import { bareSandbox, listDirectories, makeSandboxDirectory, pathsIn, removeSandboxDirectory, removeTree } from '../sandbox-directory.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { volumesOf } from '../volume-names.ts';
import { attachToContainer, type RunningContainer } from './attach.ts';
import { checkEngine } from './check.ts';
import { type ContainerBody, containerBody, placesInside, runDirectoryInside } from './container.ts';
import { containerDiskUse } from './disk-use.ts';
import type { ContainerState, ContainerSummary, Engine, EngineInfo } from './engine.ts';
import { parseExtraArguments } from './extra-arguments.ts';
import { ensureImage } from './image.ts';
import { makeEtc, refuseRemoteLibpod, refuseUnsharedLibpod } from './libpod.ts';
import { limitEnforcement } from './limits.ts';
import { resolveMounts } from './mounts.ts';
import { ensureNetworkOf, launchOnNetwork, removeFromNetwork, removeNetworkIfUnused, startOnNetwork } from './network.ts';
import { orphanSandbox } from './orphan.ts';
import { removeForeignFiles } from './remove-files.ts';
import { restrictionObstacle } from './restriction.ts';
import { seedHome } from './seed-home.ts';
import { hasLeft, stopUnused } from './stop.ts';
import { storageSupport } from './storage.ts';
import { sharesKernel } from './transport.ts';
import { giveVolumes, hasVolumes, removeVolumes, sandboxesWithVolumes } from './volumes.ts';

const infoMs = 5_000;
/** A program that opens many sandboxes asks the engine once in so long. */
const restrictionMs = 10_000;

/** What a driver decides about the sandboxes of its engine. */
export interface EngineChoice {
  readonly kind: string;
  /** The engine that is to be used, which answers. */
  find(): Promise<Engine>;
  /** Of sandboxes that name none. */
  readonly image: string;
  /** undefined: the engine's own. */
  readonly runtime: string | undefined;
  readonly extraArgs: readonly string[];
  /** All of that as text, but the image. */
  readonly settings: readonly string[];
}

/** The containers of one engine as sandboxes. */
export class EngineBackend implements Backend {
  readonly kind: string;
  readonly traits: Traits;
  readonly settings: readonly string[];
  readonly #context: BackendContext;
  readonly #choice: EngineChoice;
  #found: Promise<Engine> | undefined;
  #restriction: { answer: Promise<string | undefined>; until: number } | undefined;

  constructor(context: BackendContext, choice: EngineChoice) {
    this.#context = context;
    this.#choice = choice;
    const { kind, runtime, extraArgs } = choice;
    this.kind = kind;
    this.settings = choice.settings;
    const isExtra = extraArgs.some((word) => word.startsWith('--runtime'));
    this.traits = {
      isolation: 'container',
      disposable: true,
      durable: true,
      seesDisk: true,
      hostAliases: [],
      // Security: a runtime is chosen for its boundary, and no other backend has that one.
      insists: runtime
        ? `terminal.${kind}_runtime asks for ${runtime}`
        : isExtra
          ? `terminal.${kind}_extra_args asks for a runtime`
          : undefined,
      installing:
        'You are root in it, unless `id` says otherwise: packages can be installed with the package manager of the image (apt-get, apk), pip or npm, where the image has them. They are kept as long as the container is.',
      honours: {
        image: true,
        mounts: true,
        'host-user': true,
        'network-none': true,
        'network-open': true,
        ephemeral: true,
      },
    };
  }

  /** Looked for again after it was not found. */
  #engine(): Promise<Engine> {
    this.#found ??= this.#find().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #find(): Promise<Engine> {
    const engine = await this.#choice.find();
    if (await engine.isLibpod()) refuseRemoteLibpod(engine.address, engine.where);
    return engine;
  }

  check(image: string = this.#choice.image): Promise<Check> {
    return checkEngine(() => this.#engine(), image, this.#context.installation, this.#choice.runtime);
  }

  /** Security: true while the engine does not answer. Opening fails with its own error then, or makes a restricted sandbox, and never an open one. */
  async canRestrict(): Promise<true | string> {
    if (!this.#restriction || this.#restriction.until < Date.now()) {
      const answer = this.#findRestriction();
      this.#restriction = { answer, until: Date.now() + restrictionMs };
    }
    return (await this.#restriction.answer) ?? true;
  }

  async #findRestriction(): Promise<string | undefined> {
    try {
      const engine = await this.#engine();
      return this.#restrictionObstacle(engine, await engine.info({ timeoutMs: infoMs }));
    } catch {
      this.#restriction = undefined;
      return undefined;
    }
  }

  #restrictionObstacle({ address }: Engine, info: EngineInfo): string | undefined {
    return restrictionObstacle({ address, info, runtime: this.#runtime() });
  }

  #runtime(): string | undefined {
    const { runtime, extraArgs } = this.#choice;
    return runtime ?? parseExtraArguments(extraArgs).runtime;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    const engine = await this.#engine();
    // Takes the engine longer than anything else that is asked of it beforehand.
    const info = engine.info({ signal });
    info.catch(() => undefined);
    const isNew = await makeSandboxDirectory(spec);
    let former: readonly string[] | undefined;
    try {
      if (isNew) former = await this.#volumesOf(engine, spec.name, signal);
      return await withFileLock(join(spec.directory, 'lock'), signal, () => this.#openLocked(engine, info, spec, listener, signal));
    } catch (error) {
      // Security: volumes that were there have the files of the session, also where its directory is new.
      if (isNew && former) await this.#removeFiles(engine, spec, former);
      else if (isNew) await this.#removeDirectory(engine, spec);
      await removeNetworkIfUnused(engine, this.#context.installation).catch(() => undefined);
      throw error;
    }
  }

  async #openLocked(
    engine: Engine,
    asked: Promise<EngineInfo>,
    spec: SandboxSpec,
    listener: OpenListener,
    signal: AbortSignal | undefined,
  ): Promise<OpenSandbox> {
    const name = `hermetic-${spec.name}`;
    const { run } = pathsIn(spec.directory);
    const [{ body, unenforced, isForked }, existing] = await Promise.all([
      this.#body(engine, asked, spec, listener, signal),
      engine.inspect(name, { signal }),
    ]);
    let found = existing;
    if (found && found.labels['hermetic.spec'] !== body.Labels['hermetic.spec']) {
      if (found.running && liveAttachments(run).length > 0) {
        throw new HermeticError(
          'sandbox/in-use',
          `The sandbox of ${spec.session} is in use and has other settings than the ones asked for.`,
          {
            hint: 'Wait until it is free, or use another session.',
          },
        );
      }
      tellReplaced(listener, 'The settings of this sandbox have changed');
      await engine.remove(found.id);
      found = undefined;
    }
    // Security: a network that is not ours is refused, which is no reason to replace a container.
    if (!found?.running) await ensureNetworkOf(engine, body);
    const attach = (id: string, running?: ContainerState, attachment?: RunningContainer['attachment']): Promise<OpenSandbox> => {
      const remove = (): Promise<void> => removeFromNetwork(engine, id, this.#context.installation);
      const removeFiles = (): Promise<void> => this.#removeFiles(engine, spec);
      const { egress } = this.#context;
      return attachToContainer({ engine, id, spec, isForked, found: running, attachment, egress, remove, removeFiles }, signal);
    };
    const launch = async (): Promise<OpenSandbox> => {
      if (hasVolumes(engine)) await giveVolumes(engine, body);
      if (await engine.isLibpod()) await seedHome(engine, body);
      // Beside the engine's work, which takes much longer.
      const ready = isForked ? makeRunDirectory(run) : Promise.resolve();
      const attachment = isForked ? newAttachment(run) : undefined;
      for (const work of [ready, attachment?.pipes]) work?.catch(() => undefined);
      let id: string | undefined;
      try {
        id = await launchOnNetwork(engine, name, body, signal, ready);
        return await attach(id, undefined, attachment);
      } catch (error) {
        if (id !== undefined) await engine.remove(id);
        await Promise.allSettled([ready, attachment?.pipes]);
        attachment?.claimed.release();
        throw error;
      }
    };
    if (!found) {
      for (const sentence of unenforced) listener.notice(sentence);
      return await launch();
    }
    try {
      if (!found.running) {
        if (isForked) await makeRunDirectory(run);
        await startOnNetwork(engine, found.id, body, signal);
      }
      return await attach(found.id, found.running ? found : undefined);
    } catch (error) {
      const code = error instanceof HermeticError ? error.code : undefined;
      if (signal?.aborted || code === 'sandbox/network-failed') throw error;
      // It may have been about to end, or a command has broken it.
      const isTaken = code === 'sandbox/network-taken';
      tellReplaced(
        listener,
        isTaken ? 'A program in this sandbox held a port of its network' : 'The container of this sandbox did not answer',
      );
      await engine.remove(found.id);
      return await launch();
    }
  }

  async #body(
    engine: Engine,
    asked: Promise<EngineInfo>,
    spec: SandboxSpec,
    listener: OpenListener,
    signal: AbortSignal | undefined,
  ): Promise<{ body: ContainerBody; unenforced: string[]; isForked: boolean }> {
    const { image: defaultImage, runtime, extraArgs } = this.#choice;
    const [image, info, mounts, forkerVersion] = await Promise.all([
      ensureImage(engine, spec.image ?? defaultImage, { progress: (text) => listener.progress(text), signal }),
      asked,
      resolveMounts(spec.mounts, engine.address),
      guestVersion('forker', 'pipedShell'),
    ]);
    const { diskMb } = spec.limits;
    const storage = diskMb > 0 ? await storageSupport(engine, info, image.id, diskMb) : { enforced: false, how: 'not asked for' };
    const paths = pathsIn(spec.directory);
    const isForked = sharesKernel(engine.address, info, this.#runtime());
    const obstacle = spec.network === 'restricted' ? this.#restrictionObstacle(engine, info) : undefined;
    if (obstacle !== undefined) throw cannotRestrict(this.kind, obstacle);
    const enforcement = limitEnforcement(info, storage, this.#runtime());
    const isLibpod = await engine.isLibpod();
    if (isLibpod) {
      refuseUnsharedLibpod(isForked, this.#runtime() ?? info.DefaultRuntime);
      await makeEtc(paths.etc, spec.network === 'restricted' ? [restrictedResolver] : []);
    }
    const files = hasVolumes(engine)
      ? { volumes: volumesOf(spec.name) }
      : { workspace: paths.workspace, home: paths.home, received: paths.received };
    const body = containerBody({
      spec: { ...spec, mounts },
      installation: this.#context.installation,
      imageId: image.id,
      guestVersion: isForked ? forkerVersion : await guestVersion('keeper'),
      runDirectory: isForked ? paths.run : undefined,
      ...files,
      guestCommand: isForked ? forkerCommand(runDirectoryInside, spec, { processes: 'own' }) : await keeperCommand(spec),
      hostUser: process.getuid && process.getgid ? { uid: process.getuid(), gid: process.getgid() } : undefined,
      runtime,
      storageLimited: storage.enforced,
      extraArgs,
      enforcement,
      ...(isLibpod && { libpod: { isRootless: info.Rootless === true, etc: paths.etc } }),
    });
    return { body, unenforced: unenforcedLimits(spec.limits, enforcement, this.traits), isForked };
  }

  /** Those that exist of a sandbox. */
  async #volumesOf(engine: Engine, sandbox: string, signal: AbortSignal | undefined): Promise<string[]> {
    if (!hasVolumes(engine)) return [];
    const labels = { 'hermetic.installation': this.#context.installation, 'hermetic.name': sandbox };
    return (await engine.volumes(labels, { signal })).map(({ name }) => name);
  }

  async #removeFiles(engine: Engine, sandbox: Pick<SandboxSpec, 'name' | 'directory' | 'image'>, kept?: readonly string[]): Promise<void> {
    if (hasVolumes(engine)) await removeVolumes(engine, sandbox.name, kept);
    await this.#removeDirectory(engine, sandbox);
  }

  async #removeDirectory(engine: Engine, { directory, image }: Pick<SandboxSpec, 'directory' | 'image'>): Promise<void> {
    const foreign = (path: string): Promise<void> => removeForeignFiles(engine, image ?? this.#choice.image, path);
    await removeSandboxDirectory(directory, (path) => removeTree(path).catch(() => foreign(path)));
  }

  places(spec: SandboxSpec): Places {
    return placesInside(spec);
  }

  /** An engine behind a port does not see this disk. */
  async received({ directory }: Pick<SandboxSpec, 'directory'>): Promise<ReceivedFiles | undefined> {
    return hasVolumes(await this.#engine()) ? undefined : { directory: pathsIn(directory).received, inside: receivedInside };
  }

  async diskUse({ directory, name }: SandboxSpec): Promise<DiskUse> {
    return await containerDiskUse(await this.#engine(), name, directory);
  }

  async list(): Promise<ListedSandbox[]> {
    const { installation } = this.#context;
    const { records, bare } = await listDirectories(join(this.#context.sandboxesDirectory, this.kind));
    const engine = await this.#engine().catch(() => undefined);
    const containers = engine ? await engine.list({ 'hermetic.installation': installation }) : [];
    const withVolumes = engine ? await sandboxesWithVolumes(engine, installation) : new Set<string>();
    const kept = records.map((record): ListedSandbox => {
      const container = containers.find((one) => one.labels['hermetic.name'] === record.name);
      return {
        ...record,
        state: container?.running ? 'running' : 'stopped',
        stop: async (force) => {
          const found = await this.#engine();
          const name = `hermetic-${record.name}`;
          return await stopUnused(found, name, record.directory, async () => force || !(await hasLeft(found, name, record.directory)));
        },
        destroy: async () => {
          const found = await this.#engine();
          await removeFromNetwork(found, `hermetic-${record.name}`, installation);
          await this.#removeFiles(found, record);
        },
      };
    });
    if (!engine) return [...kept, ...bare.map((one) => bareSandbox(one))];
    const orphan = (name: string, hasFiles: boolean, container?: ContainerSummary): ListedSandbox =>
      orphanSandbox({ engine, installation, name, hasFiles, container });
    for (const { name } of records) withVolumes.delete(name);
    const orphans = containers.flatMap((one): ListedSandbox[] => {
      const name = one.labels['hermetic.name'];
      if (name !== undefined && records.some((record) => record.name === name)) return [];
      return [orphan(name ?? one.name, name !== undefined && withVolumes.delete(name), one)];
    });
    const alone = [...withVolumes].map((name) => orphan(name, true));
    // Containers go before the directories that they show.
    return [...kept, ...orphans, ...alone, ...bare.map((one) => bareSandbox(one, () => this.#removeDirectory(engine, one)))];
  }
}

function newAttachment(run: string): NonNullable<RunningContainer['attachment']> {
  const claimed = claim(run);
  return { claimed, pipes: makeAttachmentPipes(run, claimed.name) };
}

function tellReplaced(listener: OpenListener, why: string): void {
  const text = `${why}: it is replaced. Its files stay.`;
  listener.notice(text, text);
}
