import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { Backend, Check, DiskUse, ListedSandbox, OpenListener, OpenSandbox, Places, SandboxSpec, Traits } from '../../core/sandbox.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { withFileLock } from '../../lib/file-lock.ts';
import { guestVersion } from '../../shell/guest-scripts.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { firstProcessCommand } from '../../shell/streams/keeper.ts';
import { hasLeftProcesses } from '../../shell/streams/left-processes.ts';
import { cannotRestrict } from '../cannot-restrict.ts';
import type { BackendContext } from '../context.ts';
import { diskUseOf } from '../disk-use.ts';
import type { BackendDriver } from '../driver.ts';
import { refusedStatus } from '../refusal.ts';
import { bareSandbox, listDirectories, makeSandboxDirectory, pathsIn, removeSandboxDirectory, removeTree } from '../sandbox-directory.ts';
import { unenforcedLimits } from '../unenforced-limits.ts';
import { KubernetesApi } from './api.ts';
import { attachToPod, stopUnused } from './attach.ts';
import { checkKubernetes, enforcement, probeSeconds } from './check.ts';
import { Credentials } from './credentials.ts';
import { annotationNames, labelNames, objectNameOf, type Pod, type Reference, referenceTo } from './objects.ts';
import { type KubernetesOptions, kubernetesOptions } from './options.ts';
import { type PodBody, placesInside, podBody } from './pod-spec.ts';
import { podState } from './pod-state.ts';
import { Pods } from './pods.ts';
import { Claims, hasClaim } from './storage.ts';
import { PodWatch } from './watch.ts';

const unprovenNetwork =
  'a NetworkPolicy is only a wish until the network plugin of the cluster enforces it, which nothing inside a pod can prove';

export const kubernetes: BackendDriver<typeof kubernetesOptions> = {
  kind: 'kubernetes',
  summary: 'A hardened pod of any image in a cluster, kept for the session.',
  options: kubernetesOptions,
  image: ({ kubernetes_image: image }) => image,
  create: (context, options) => new KubernetesBackend(context, options),
};

class KubernetesBackend implements Backend {
  readonly kind = 'kubernetes';
  readonly traits: Traits;
  readonly settings: readonly string[];
  readonly #context: BackendContext;
  readonly #options: KubernetesOptions;
  readonly #api: KubernetesApi;
  readonly #pods: Pods;
  readonly #claims: Claims;
  readonly #watch: PodWatch;

  constructor(context: BackendContext, options: KubernetesOptions) {
    this.#context = context;
    this.#options = options;
    const { kubernetes_image: _, ...others } = options;
    this.settings = [canonicalJson(others)];
    const { environment, installation } = context;
    const { kubernetes_kubeconfig: kubeconfig, kubernetes_context: name, kubernetes_namespace: namespace } = options;
    this.#api = new KubernetesApi(new Credentials({ environment, kubeconfig, context: name }));
    this.#pods = new Pods(this.#api, installation, namespace);
    this.#claims = new Claims(this.#api, installation, options);
    this.#watch = new PodWatch(this.#api, this.#pods);
    const isRoot = options.kubernetes_user === 'root';
    this.traits = {
      isolation: 'container',
      disposable: true,
      durable: true,
      seesDisk: false,
      hostAliases: [],
      insists: undefined,
      installing: isRoot
        ? 'You are root in it: packages can be installed with the package manager of the image (apt-get, apk), pip or npm, where the image has them. They are kept as long as the pod is.'
        : 'You are not root in it: pip and npm install into your home, where the image has them; the package manager of the image does not work.',
      honours: {
        image: true,
        mounts: 'a pod runs on another machine, which does not have the directories of this one',
        'host-user': 'a pod runs on another machine, where the user of this one means nothing (see terminal.kubernetes_user)',
        'network-none': unprovenNetwork,
        'network-open': true,
        ephemeral: true,
      },
    };
  }

  check(image: string = this.#options.kubernetes_image): Promise<Check> {
    const { installation } = this.#context;
    return checkKubernetes({ api: this.#api, pods: this.#pods, watch: this.#watch, installation, options: this.#options, image });
  }

  async canRestrict(): Promise<true | string> {
    return unprovenNetwork;
  }

  async open(spec: SandboxSpec, listener: OpenListener, signal?: AbortSignal): Promise<OpenSandbox> {
    if (spec.network === 'restricted') throw cannotRestrict(this.kind, unprovenNetwork);
    const isNew = await makeSandboxDirectory(spec);
    try {
      return await withFileLock(join(spec.directory, 'lock'), signal, () => this.#openLocked(spec, isNew, listener, signal));
    } catch (error) {
      if (isNew) await removeTree(spec.directory);
      throw error;
    }
  }

  async #openLocked(spec: SandboxSpec, isNew: boolean, listener: OpenListener, signal: AbortSignal | undefined): Promise<OpenSandbox> {
    signal?.throwIfAborted();
    const body = await this.#body(spec);
    const found = await this.#findUsable(spec, body, listener, signal);
    if (found === undefined || found === 'replaced') {
      this.#tellOfNew(spec, { isNew, isReplaced: found === 'replaced' }, listener);
      return await this.#launch(spec, body, listener, signal);
    }
    await this.#watch.untilRunning(found, (text) => listener.progress(text), { signal });
    try {
      // Security: a server or a node that does not answer now is no reason to give up a pod with files.
      await this.#isAnswered(found.name);
      return await this.#attach(found, spec, false, signal);
    } catch (error) {
      const code = error instanceof HermeticError ? error.code : undefined;
      if (signal?.aborted || (code !== 'sandbox/lost' && code !== 'sandbox/open-failed')) throw error;
      this.#tellReplaced(spec, listener, 'The pod of this sandbox did not answer');
      await this.#pods.remove(found);
      return await this.#launch(spec, body, listener, signal);
    }
  }

  async #body(spec: SandboxSpec): Promise<PodBody> {
    const [version, command] = await Promise.all([guestVersion('firstProcess', 'keeper'), firstProcessCommand(spec)]);
    return podBody({ spec, options: this.#options, installation: this.#context.installation, guestVersion: version, command });
  }

  /** The pod of this sandbox if it can be used as it is. One that cannot is removed; `replaced`, and told, when it still ran. */
  async #findUsable(
    spec: SandboxSpec,
    body: PodBody,
    listener: OpenListener,
    signal: AbortSignal | undefined,
  ): Promise<Reference | 'replaced' | undefined> {
    const found = await this.#pods.find(body.metadata.name, { signal });
    if (!found) return undefined;
    const pod = referenceTo(found);
    if (found.metadata?.deletionTimestamp) {
      await this.#pods.untilGone(pod, signal);
      return undefined;
    }
    const hasEnded = podState(found).kind === 'ended';
    if (!hasEnded && hashOf(found) === hashOf(body)) return pod;
    if (!hasEnded && liveAttachments(pathsIn(spec.directory).run).length > 0) {
      throw new HermeticError(
        'sandbox/in-use',
        `The sandbox of ${spec.session} is in use and has other settings than the ones asked for.`,
        {
          hint: 'Wait until it is free, or use another session.',
        },
      );
    }
    if (!hasEnded) this.#tellReplaced(spec, listener, 'The settings of this sandbox have changed');
    await this.#pods.remove(pod);
    return hasEnded ? undefined : 'replaced';
  }

  async #isAnswered(name: string): Promise<void> {
    const command = await this.#pods.attachTo(name)(['true']);
    command.destroy();
  }

  async #launch(spec: SandboxSpec, body: PodBody, listener: OpenListener, signal: AbortSignal | undefined): Promise<OpenSandbox> {
    const isNewClaim = hasClaim(spec, this.#options) && (await this.#claims.ensure(spec, { signal }));
    // The state of the session speaks of files that went with its last pod.
    if (!hasClaim(spec, this.#options)) await rm(pathsIn(spec.directory).state, { force: true });
    let pod: Reference | undefined;
    try {
      pod = await this.#create(body, signal);
      await this.#watch.untilRunning(pod, (text) => listener.progress(text), { signal });
      return await this.#attach(pod, spec, true, signal);
    } catch (error) {
      if (pod) await this.#pods.remove(pod);
      if (isNewClaim) await this.#claims.remove(spec.name);
      throw error;
    }
  }

  /** Another program may have made the same pod meanwhile. A full quota refuses before it says so. */
  async #create(body: PodBody, signal: AbortSignal | undefined): Promise<Reference> {
    try {
      return referenceTo(await this.#pods.create(body, signal));
    } catch (error) {
      const isMade = refusedStatus(error) === 409 || refusedStatus(error) === 403;
      const found = isMade ? await this.#pods.find(body.metadata.name) : undefined;
      if (found && podState(found).kind !== 'ended' && hashOf(found) === hashOf(body)) return referenceTo(found);
      throw error;
    }
  }

  #attach(pod: Reference, spec: SandboxSpec, isNew: boolean, signal: AbortSignal | undefined): Promise<OpenSandbox> {
    const { workdir } = this.places(spec);
    const removeFiles = (): Promise<void> => this.#removeFiles(spec.name, spec.directory);
    return attachToPod({ pods: this.#pods, watch: this.#watch, pod, spec, workdir, isNew, removeFiles }, signal);
  }

  async #removeFiles(name: string, directory: string): Promise<void> {
    if (this.#options.kubernetes_storage === 'claim') await this.#claims.remove(name);
    if (directory !== '') await removeSandboxDirectory(directory);
  }

  /** What is not enforced, and how long files last. */
  #tellOfNew(spec: SandboxSpec, { isNew, isReplaced }: { isNew: boolean; isReplaced: boolean }, listener: OpenListener): void {
    for (const sentence of unenforcedLimits(spec.limits, enforcement, this.traits)) listener.notice(sentence);
    if (!spec.persistent || hasClaim(spec, this.#options) || isReplaced) return;
    const why = 'terminal.kubernetes_storage is none';
    const lost = 'The sandbox of this session has ended, and its files are gone';
    if (isNew) listener.notice(`The files of this session last as long as its pod (${why}).`);
    else listener.notice(`${lost} (${why}).`, `${lost}.`);
  }

  #tellReplaced(spec: SandboxSpec, listener: OpenListener, why: string): void {
    const text = `${why}: it is replaced. ${hasClaim(spec, this.#options) ? 'Its files stay.' : 'Its files are gone.'}`;
    listener.notice(text, text);
  }

  places(spec: SandboxSpec): Places {
    return placesInside(spec, this.#options);
  }

  /** A node does not see this disk. */
  async received(): Promise<undefined> {
    return undefined;
  }

  /** Of this machine only the records: the cluster itself limits the rest. */
  diskUse({ directory }: SandboxSpec): Promise<DiskUse> {
    return diskUseOf([directory], []);
  }

  /** Does not ask a cluster in which this installation never had a sandbox. */
  async list(): Promise<ListedSandbox[]> {
    const directory = join(this.#context.sandboxesDirectory, this.kind);
    if (!existsSync(directory)) return [];
    const { records, bare } = await listDirectories(directory);
    // Of a cluster that does not answer, or has not been configured yet, no more is known than the records.
    const pods = (await this.#pods.list().catch(() => [])).filter((pod) => !isRunningProbe(pod));
    const claims = this.#options.kubernetes_storage === 'claim' ? await this.#claims.list().catch(() => undefined) : [];
    const kept = records.map((record): ListedSandbox => {
      const pod = pods.find((one) => sandboxOf(one) === record.name);
      return {
        ...record,
        state: pod && podState(pod).kind !== 'ended' ? 'running' : 'stopped',
        stop: async (force) => {
          const name = objectNameOf(record.name);
          const mayStop = async (): Promise<boolean> => force || !(await hasLeftProcesses(this.#pods.attachTo(name)));
          return await stopUnused(this.#pods, name, record.directory, mayStop);
        },
        destroy: () => this.#destroy(record.name, record.directory),
      };
    });
    const isKnown = (name: string): boolean => records.some((record) => record.name === name);
    const orphans = pods.filter((pod) => !isKnown(sandboxOf(pod)));
    const left = claims?.filter((name) => !isKnown(name) && !orphans.some((pod) => sandboxOf(pod) === name)) ?? [];
    const hasClaimOf = (name: string): boolean => claims?.includes(name) ?? true;
    return [
      ...kept,
      ...orphans.map((pod) => this.#orphan(sandboxOf(pod), pod, hasClaimOf(sandboxOf(pod)))),
      ...left.map((name) => this.#orphan(name, undefined, true)),
      ...bare.map((one) => bareSandbox(one)),
    ];
  }

  /** The pod or the claim of a session whose directory is not here, or of a program that died. */
  #orphan(name: string, pod: Pod | undefined, hasClaim: boolean): ListedSandbox {
    const { annotations, creationTimestamp, labels } = pod?.metadata ?? {};
    const isRunning = pod !== undefined && podState(pod).kind !== 'ended';
    return {
      name,
      session: annotations?.[annotationNames.session] ?? '',
      state: isRunning ? 'running' : 'stopped',
      image: undefined,
      createdAt: new Date(creationTimestamp ?? Date.now()),
      directory: '',
      // Without a claim, files are in the pod for as long as it runs.
      hasFiles: labels?.[labelNames.probe] === undefined && (hasClaim || isRunning),
      stop: async (force) => {
        if (!force && isRunning && (await hasLeftProcesses(this.#pods.attachTo(objectNameOf(name))))) return false;
        if (pod) await this.#pods.remove(referenceTo(pod));
        return true;
      },
      destroy: async () => {
        if (pod) await this.#pods.remove(referenceTo(pod));
        await this.#removeFiles(name, '');
      },
    };
  }

  async #destroy(name: string, directory: string): Promise<void> {
    const found = await this.#pods.find(objectNameOf(name));
    if (found) await this.#pods.remove(referenceTo(found));
    await this.#removeFiles(name, directory);
  }
}

function hashOf({ metadata }: { metadata?: Pod['metadata'] }): string | undefined {
  return metadata?.annotations?.[annotationNames.spec];
}

function sandboxOf({ metadata }: Pod): string {
  return metadata?.labels?.[labelNames.name] ?? metadata?.name ?? '';
}

/** A check that runs now removes its pod itself. */
function isRunningProbe({ metadata }: Pod): boolean {
  const ageMs = Date.now() - Date.parse(metadata?.creationTimestamp ?? '');
  return metadata?.labels?.[labelNames.probe] !== undefined && ageMs < probeSeconds * 1000;
}
