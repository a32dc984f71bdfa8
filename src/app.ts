import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { installationId } from './config/installation.ts';
import type { LoadedConfig } from './config/load.ts';
import { type Audience, type SandboxSettings, sandboxSettings } from './config/sandbox-settings.ts';
import { backendNames, parseVolume } from './config/schema.ts';
import { ensureProven, notContained, type ProofSubject, remember } from './containment.ts';
import { HermeticError } from './core/errors.ts';
import type { Proof } from './core/proof.ts';
import type { Backend, Mount, OpenListener, OpenSandbox, SandboxSpec } from './core/sandbox.ts';
import type { ProofEntry, Store } from './core/store.ts';
import type { SandboxRequest } from './sandbox-request.ts';
import { candidatesFor } from './sandboxes/candidates.ts';
import { sandboxEnvironment } from './sandboxes/environment.ts';
import { refuseUnhonoured } from './sandboxes/honour.ts';
import { backendDrivers } from './sandboxes/index.ts';
import { checkedMounts } from './sandboxes/mount-sources.ts';
import { copyCredentials, type OfferingOptions, offerings } from './sandboxes/offerings.ts';
import { prove } from './sandboxes/proof/index.ts';
import { openRecorded } from './sandboxes/recorded-sandbox.ts';
import { sandboxName } from './sandboxes/sandbox-name.ts';
import { specFingerprint } from './sandboxes/spec-fingerprint.ts';
import { watchDisk } from './sandboxes/watched-sandbox.ts';
import { openStore } from './stores/index.ts';

export interface OpenedSandbox {
  sandbox: OpenSandbox;
  backend: Backend;
  spec: SandboxSpec;
  /** Equal for sandboxes that are made alike. */
  fingerprint: string;
}

const quiet: OpenListener = { notice: () => undefined, progress: () => undefined };

/** Failures that mean `auto` may look further: the backend cannot work here, whatever the spec. */
const passable: ReadonlySet<string> = new Set([
  'backend/not-installed',
  'backend/not-running',
  'backend/not-permitted',
  'backend/unavailable',
  'sandbox/no-image',
]);

/** The parts of Hermetic, put together from a configuration. No input or output happens until something is asked of it. */
export class App {
  readonly loaded: LoadedConfig;
  readonly #workingDirectory: string;
  #backends: ReadonlyMap<string, Backend> | undefined;
  #installation: string | undefined;
  #store: Promise<Store> | undefined;

  constructor(loaded: LoadedConfig, workingDirectory: string) {
    this.loaded = loaded;
    this.#workingDirectory = workingDirectory;
  }

  get installation(): string {
    this.#installation ??= installationId(this.loaded.home);
    return this.#installation;
  }

  /** Opened when it is first needed. */
  store(): Promise<Store> {
    this.#store ??= openStore(join(this.loaded.home, 'state.db')).catch((error: unknown) => {
      this.#store = undefined;
      throw error;
    });
    return this.#store;
  }

  /** Lets go of what this program holds beside sandboxes. */
  async close(): Promise<void> {
    const store = await this.#store;
    this.#store = undefined;
    await store?.close();
  }

  settings(audience: Audience): SandboxSettings {
    return sandboxSettings(this.loaded.config, audience);
  }

  /** By name, in the order of preference. */
  get backends(): ReadonlyMap<string, Backend> {
    if (this.#backends) return this.#backends;
    const { terminal } = this.loaded.config;
    const context = {
      installation: this.installation,
      sandboxesDirectory: terminal.sandbox_dir,
      environment: this.loaded.environment,
      docker: {
        host: terminal.docker_host,
        image: terminal.docker_image,
        runtime: terminal.docker_runtime,
        extraArgs: terminal.docker_extra_args,
      },
    };
    this.#backends = new Map(backendDrivers.map((driver) => [driver.kind, driver.create(context)]));
    return this.#backends;
  }

  /** The backends a name stands for: one, or for `auto` those to try in turn. */
  candidates(name: string): Backend[] {
    return candidatesFor(name, this.backends, backendNames);
  }

  /** Opens the session's sandbox. With `auto`, on the first backend that works; the listener is told why an earlier one does not. */
  async openSandbox(request: SandboxRequest, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    const candidates = this.candidates(request.backend ?? this.settings(request.audience).backend);
    const failures: string[] = [];
    for (const backend of candidates) {
      try {
        const opened = await this.#open(request, backend, listener, signal);
        if (backend.traits.isolation !== 'none') await this.#prove(opened, request.audience, listener);
        if (failures.length > 0) listener.notice(`${failures.join(' ')} This session runs on ${backend.kind} instead.`);
        this.#tellOfOthers(backend, candidates, opened.spec, listener);
        return opened;
      } catch (error) {
        if (!(error instanceof HermeticError) || !passable.has(error.code) || candidates.length === 1) throw error;
        failures.push(`${backend.kind}: ${error.message}`);
      }
    }
    throw new HermeticError('backend/unavailable', `No sandbox can be made on this machine. ${failures.join(' ')}`, {
      hint: 'Install one: sudo apt-get install bubblewrap. Commands are never run without a sandbox unless terminal.backend is local.',
    });
  }

  /** What the sandbox of this session on this backend is to be. Refuses what the backend cannot give. */
  async #resolve(request: SandboxRequest, backend: Backend, listener: OpenListener): Promise<Pick<OpenedSandbox, 'spec' | 'fingerprint'>> {
    const wished = this.specFor(request, backend, listener);
    refuseUnhonoured(backend, wished);
    const spec = { ...wished, mounts: await this.#mountsFor(wished, backend) };
    return { spec, fingerprint: specFingerprint(this.installation, backend.kind, spec) };
  }

  async #open(request: SandboxRequest, backend: Backend, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    const { spec, fingerprint } = await this.#resolve(request, backend, listener);
    if (backend.traits.honours.mounts === true) await copyCredentials(this.#offered(spec));
    const ledger = this.store().then(({ sandboxes }) => sandboxes);
    const sandbox = await openRecorded({ backend, spec, parts: request.parts, fingerprint, ledger }, listener, signal);
    const { diskMb } = spec.limits;
    if (diskMb === 0 || backend.traits.isolation === 'none') return { sandbox, backend, spec, fingerprint };
    const notice = (text: string): void => listener.notice(text);
    const watch = { mostBytes: diskMb * 1024 * 1024, measure: () => backend.diskBytes(spec), notice };
    return { sandbox: watchDisk(sandbox, watch), backend, spec, fingerprint };
  }

  /** Security: people in chats never get a sandbox whose proof broke. Whoever sits at the terminal is told and decides. */
  async #prove(opened: OpenedSandbox, audience: Audience, listener: OpenListener): Promise<void> {
    const { backend, sandbox } = opened;
    try {
      if (await ensureProven({ ...opened, ...this.#proofGround }, (await this.store()).proofs, listener)) return;
      if (audience === 'messaging') throw notContained(backend);
      listener.notice(`${notContained(backend).message} ${notContained(backend).hint}`);
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  }

  /** Proves sandboxes of these settings anew, with a sibling beside it, and remembers what came of it. Both are gone afterwards. */
  async proveBackend(backend: Backend, audience: Audience): Promise<Proof> {
    const open = (title: string) => this.#open({ audience, parts: ['proof', title, randomUUID()], title }, backend, quiet);
    const subject = await open('proof');
    try {
      const sibling = await open('sibling of a proof');
      try {
        const proof = await prove({ ...subject, sibling, ...this.#proofGround, hostAliases: backend.traits.hostAliases });
        await remember(subject, proof, (await this.store()).proofs);
        return proof;
      } finally {
        await sibling.sandbox.destroy();
      }
    } finally {
      await subject.sandbox.destroy();
    }
  }

  /** undefined when no sandbox with these settings was ever proven. */
  async latestProof(backend: Backend, audience: Audience): Promise<ProofEntry | undefined> {
    const { fingerprint } = await this.#resolve({ audience, parts: ['proof'], title: 'proof' }, backend, quiet);
    return await (await this.store()).proofs.latest(backend.kind, fingerprint);
  }

  /** What a proof needs to know of the host. */
  get #proofGround(): Pick<ProofSubject, 'hermeticHome' | 'engineSockets'> {
    const { docker_host: host } = this.loaded.config.terminal;
    return { hermeticHome: this.loaded.home, engineSockets: host?.startsWith('unix://') ? [host.slice('unix://'.length)] : [] };
  }

  /** Files of a session do not move between backends, so nobody should look for them in vain. */
  #tellOfOthers(backend: Backend, candidates: readonly Backend[], spec: SandboxSpec, listener: OpenListener): void {
    for (const other of candidates) {
      if (other !== backend && existsSync(join(this.#directoryOf(other, spec.name), 'sandbox.json'))) {
        listener.notice(`This session also has files on ${other.kind} (--backend ${other.kind}).`);
      }
    }
  }

  #directoryOf(backend: Backend, name: string): string {
    return join(this.loaded.config.terminal.sandbox_dir, backend.kind, name);
  }

  /** Everything the configuration says about the sandbox of a session on a backend. */
  specFor(request: SandboxRequest, backend: Backend, listener: OpenListener): SandboxSpec {
    const { terminal } = this.loaded.config;
    const settings = this.settings(request.audience);
    const contained = backend.traits.isolation !== 'none';
    const name = sandboxName(this.installation, request.parts);
    const wishes = { forward: terminal.docker_forward_env, passthrough: terminal.env_passthrough, fixed: terminal.docker_env };
    const { env, withheld } = sandboxEnvironment(wishes, this.loaded.environment);
    for (const variable of withheld) {
      listener.notice(`${variable} looks like a credential and stays outside. To mean it, name it in terminal.docker_forward_env.`);
    }
    const mounts = this.#mounts();
    if (!contained && mounts.length > 0) listener.notice(`Volumes are not mounted: ${backend.kind} runs on the host itself.`);
    return {
      name,
      session: request.title,
      directory: this.#directoryOf(backend, name),
      image: request.image ?? (backend.traits.honours.image === true ? settings.imageFor(backend.kind) : undefined),
      workdir: this.#workdir(contained),
      env,
      mounts: contained ? mounts : [],
      limits: {
        cpus: terminal.container_cpu,
        memoryMb: terminal.container_memory,
        diskMb: terminal.container_disk,
        pids: terminal.container_pids,
      },
      network: terminal.network,
      persistent: terminal.container_persistent,
      user: terminal.docker_run_as_host_user && contained ? 'host' : 'default',
      idleSeconds: settings.idleSeconds,
    };
  }

  /** The volumes, checked, and what Hermetic's home offers every sandbox. */
  async #mountsFor(wished: SandboxSpec, backend: Backend): Promise<Mount[]> {
    const { config, home, environment } = this.loaded;
    const { allow_dangerous_mounts: allowDangerous } = config.terminal;
    const forbidden = {
      [home]: 'it is the home of Hermetic itself',
      [join(environment.HOME ?? homedir(), '.ssh')]: 'it holds your keys',
    };
    const volumes = await checkedMounts(wished.mounts, { allowDangerous, forbidden });
    if (backend.traits.honours.mounts !== true) return volumes;
    return [...volumes, ...(await offerings(this.#offered(wished)))];
  }

  #offered({ directory }: SandboxSpec): OfferingOptions {
    const { config, home } = this.loaded;
    const credentialsDirectory = join(directory, 'credentials');
    return { hermeticHome: home, credentialFiles: config.terminal.credential_files, credentialsDirectory };
  }

  #mounts(): Mount[] {
    const { docker_volumes: volumes, docker_mount_cwd_to_workspace: mountHere } = this.loaded.config.terminal;
    const here: Mount = { source: this.#workingDirectory, target: '/workspace', readOnly: false };
    return [...volumes.map(parseVolume), ...(mountHere ? [here] : [])];
  }

  #workdir(contained: boolean): string | undefined {
    const { cwd } = this.loaded.config.terminal;
    if (cwd !== '.') return cwd;
    if (!contained) return this.#workingDirectory;
    throw new HermeticError(
      'backend/cannot-honour',
      'terminal.cwd "." means the directory Hermetic was started in, which a sandbox does not have.',
      {
        hint: 'Unset terminal.cwd, or mount the directory with terminal.docker_mount_cwd_to_workspace.',
      },
    );
  }
}
