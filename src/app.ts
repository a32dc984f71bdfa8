import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { installationId } from './config/installation.ts';
import type { LoadedConfig } from './config/load.ts';
import { type Audience, type SandboxSettings, sandboxSettings } from './config/sandbox-settings.ts';
import { backendNames, parseVolume } from './config/schema.ts';
import { HermeticError } from './core/errors.ts';
import type { Backend, Mount, OpenListener, OpenSandbox, SandboxSpec } from './core/sandbox.ts';
import type { SessionKey } from './core/session.ts';
import type { SandboxLedger, Store } from './core/store.ts';
import { nearest } from './lib/nearest.ts';
import { sandboxEnvironment } from './sandboxes/environment.ts';
import { refuseUnhonoured } from './sandboxes/honour.ts';
import { automaticKinds, backendDrivers } from './sandboxes/index.ts';
import { checkedMounts } from './sandboxes/mount-sources.ts';
import { offerings } from './sandboxes/offerings.ts';
import { openRecorded } from './sandboxes/recorded-sandbox.ts';
import { sandboxName } from './sandboxes/sandbox-name.ts';
import { type SandboxScope, sandboxParts } from './sandboxes/scope.ts';
import { specFingerprint } from './sandboxes/spec-fingerprint.ts';
import { watchDisk } from './sandboxes/watched-sandbox.ts';
import { openStore } from './stores/index.ts';

export interface SandboxRequest {
  audience: Audience;
  /** What its name is derived from: parts, never joined text. */
  parts: readonly string[];
  /** What people call it. */
  title: string;
  /** Instead of the configured one. */
  backend?: string | undefined;
  /** Instead of the backend's configured image. */
  image?: string | undefined;
}

/** The sandbox of a session somebody names on the command line. */
export function cliSession(name: string): Pick<SandboxRequest, 'audience' | 'parts' | 'title'> {
  return { audience: 'cli', parts: ['cli', name], title: name };
}

/** The sandbox of a conversation, as far as it is shared by `gateway.sandbox_scope`. */
export function messagingSession(key: SessionKey, scope: SandboxScope): Pick<SandboxRequest, 'audience' | 'parts' | 'title'> {
  const title = [key.platform, key.workspace, key.chat, key.thread, key.user].filter((part) => part !== undefined).join(' ');
  return { audience: 'messaging', parts: sandboxParts(key, scope), title };
}

export interface OpenedSandbox {
  sandbox: OpenSandbox;
  backend: Backend;
  spec: SandboxSpec;
}

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
    await (await this.#store)?.close();
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
    const kinds = name === 'auto' ? automaticKinds : [name];
    return kinds.map((kind) => {
      const backend = this.backends.get(kind);
      if (backend) return backend;
      if ((backendNames as readonly string[]).includes(kind)) {
        throw new HermeticError('backend/unavailable', `The ${kind} backend is not part of this version.`, {
          hint: `Available: auto, ${[...this.backends.keys()].join(', ')}.`,
        });
      }
      const close = nearest(kind, backendNames);
      throw new HermeticError('backend/unknown', `There is no backend ${JSON.stringify(kind)}${close ? `; did you mean ${close}?` : '.'}`, {
        hint: `Valid names: ${backendNames.join(', ')}.`,
      });
    });
  }

  /** Opens the session's sandbox. With `auto`, on the first backend that works; the listener is told why an earlier one does not. */
  async openSandbox(request: SandboxRequest, listener: OpenListener, signal?: AbortSignal): Promise<OpenedSandbox> {
    const candidates = this.candidates(request.backend ?? this.settings(request.audience).backend);
    const failures: string[] = [];
    const ledger = async (): Promise<SandboxLedger> => (await this.store()).sandboxes;
    for (const backend of candidates) {
      const wished = this.specFor(request, backend, listener);
      refuseUnhonoured(backend, wished);
      try {
        const spec = { ...wished, mounts: await this.#mountsFor(wished, backend) };
        const fingerprint = specFingerprint(this.installation, backend.kind, spec);
        const recorded = { backend, spec, parts: request.parts, fingerprint, ledger: ledger() };
        const sandbox = await openRecorded(recorded, listener, signal);
        if (failures.length > 0) listener.notice(`${failures.join(' ')} This session runs on ${backend.kind} instead.`);
        this.#tellOfOthers(backend, candidates, spec, listener);
        const contained = backend.traits.isolation !== 'none';
        return { sandbox: contained ? this.#watched(sandbox, backend, spec, listener) : sandbox, backend, spec };
      } catch (error) {
        if (!(error instanceof HermeticError) || !passable.has(error.code) || candidates.length === 1) throw error;
        failures.push(`${backend.kind}: ${error.message}`);
      }
    }
    throw new HermeticError('backend/unavailable', `No sandbox can be made on this machine. ${failures.join(' ')}`, {
      hint: 'Install one: sudo apt-get install bubblewrap. Commands are never run without a sandbox unless terminal.backend is local.',
    });
  }

  #watched(sandbox: OpenSandbox, backend: Backend, spec: SandboxSpec, listener: OpenListener): OpenSandbox {
    const { diskMb } = spec.limits;
    if (diskMb === 0) return sandbox;
    return watchDisk(sandbox, {
      mostBytes: diskMb * 1024 * 1024,
      measure: () => backend.diskBytes(spec),
      notice: (text) => listener.notice(text),
    });
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
  async #mountsFor({ mounts, directory }: SandboxSpec, backend: Backend): Promise<Mount[]> {
    const { config, home, environment } = this.loaded;
    const { allow_dangerous_mounts: allowDangerous, credential_files: credentialFiles } = config.terminal;
    const forbidden = {
      [home]: 'it is the home of Hermetic itself',
      [join(environment['HOME'] ?? homedir(), '.ssh')]: 'it holds your keys',
    };
    const volumes = await checkedMounts(mounts, { allowDangerous, forbidden });
    if (backend.traits.honours.mounts !== true) return volumes;
    const offered = { hermeticHome: home, credentialFiles, credentialsDirectory: join(directory, 'credentials') };
    return [...volumes, ...(await offerings(offered))];
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
