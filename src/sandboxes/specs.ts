import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathsIn } from '../backends/sandbox-directory.ts';
import type { LoadedConfig } from '../config/load.ts';
import { sandboxSettings } from '../config/sandbox-settings.ts';
import { parseVolume } from '../config/schema.ts';
import type { Backend, Limits, Mount, OpenListener, SandboxSpec } from '../core/sandbox.ts';
import { sandboxEnvironment } from './environment.ts';
import { type OfferingOptions, offerings } from './home-mounts.ts';
import { checkedMounts } from './mounts.ts';
import type { Comparison } from './pool/pooled-sandbox.ts';
import type { SandboxRequest } from './request.ts';
import { sandboxName } from './sandbox-name.ts';
import { specFingerprint } from './spec-fingerprint.ts';
import { refuseUnhonoured } from './supported.ts';

export interface ResolvedSpec {
  spec: SandboxSpec;
  /** Equal for sandboxes that are made alike. */
  fingerprint: string;
}

export function limitsOf({ terminal }: LoadedConfig['config']): Limits {
  return {
    cpus: terminal.container_cpu,
    memoryMb: terminal.container_memory,
    diskMb: terminal.container_disk,
    pids: terminal.container_pids,
  };
}

/** The mounts, resolved. Refuses what is not there, and what would hand over the host. */
export async function checkedVolumes({ config, home, environment }: LoadedConfig, mounts: readonly Mount[]): Promise<Mount[]> {
  const { allow_dangerous_mounts: allowDangerous, docker_host: named } = config.terminal;
  const forbidden = {
    [home]: 'it is the home of Hermetic itself',
    [join(environment.HOME ?? homedir(), '.ssh')]: 'it holds your keys',
  };
  const socket = /^unix:\/\/(.+)/.exec(named ?? environment.DOCKER_HOST ?? '')?.[1];
  return await checkedMounts(mounts, { allowDangerous, forbidden, engineSockets: socket === undefined ? [] : [socket] });
}

/** Makes of a configuration what the sandboxes of sessions are to be. */
export class SandboxSpecs {
  readonly #config: () => LoadedConfig;
  readonly #workingDirectory: string;
  readonly #installation: () => string;

  constructor(loaded: () => LoadedConfig, workingDirectory: string, installation: () => string) {
    this.#config = loaded;
    this.#workingDirectory = workingDirectory;
    this.#installation = installation;
  }

  get #loaded(): LoadedConfig {
    return this.#config();
  }

  /** What a session's sandbox is called, unless it has got one that had a name already. */
  derivedName(parts: readonly string[]): string {
    return sandboxName(this.#installation(), parts);
  }

  directoryOf(backend: Backend, name: string): string {
    return join(this.#loaded.config.terminal.sandbox_dir, backend.kind, name);
  }

  hasFiles(backend: Backend, name: string): boolean {
    return existsSync(pathsIn(this.directoryOf(backend, name)).record);
  }

  /** Everything the configuration says about the sandbox of a session on a backend. */
  specFor(request: SandboxRequest, backend: Backend, listener: OpenListener, name = this.derivedName(request.parts)): SandboxSpec {
    const { terminal } = this.#loaded.config;
    const settings = sandboxSettings(this.#loaded.config, request.audience);
    const contained = backend.traits.isolation !== 'none';
    const wishes = { forward: terminal.docker_forward_env, passthrough: terminal.env_passthrough, fixed: terminal.docker_env };
    const { env, withheld } = sandboxEnvironment(wishes, this.#loaded.environment);
    for (const variable of withheld) {
      listener.notice(`${variable} looks like a credential and stays outside. To mean it, name it in terminal.docker_forward_env.`);
    }
    const mounts = this.#mounts();
    if (!contained && mounts.length > 0) listener.notice(`Volumes are not mounted: ${backend.kind} runs on the host itself.`);
    return {
      name,
      session: request.title,
      directory: this.directoryOf(backend, name),
      image: request.image ?? settings.imageFor(backend.kind),
      workdir: this.#workdir(contained),
      env,
      mounts: contained ? mounts : [],
      limits: limitsOf(this.#loaded.config),
      network: terminal.network,
      persistent: terminal.container_persistent,
      user: terminal.docker_run_as_host_user && contained ? 'host' : 'default',
      idleSeconds: settings.idleSeconds,
      // A gateway comes back for what was left running. Of the command line, which may be gone for good, nothing outlives its idle time.
      backgroundSeconds: request.audience === 'cli' ? settings.idleSeconds : settings.backgroundSeconds,
    };
  }

  /** The same with its mounts checked. Refuses what the backend cannot give. */
  async resolve(request: SandboxRequest, backend: Backend, listener: OpenListener, name?: string): Promise<ResolvedSpec> {
    const wished = this.specFor(request, backend, listener, name);
    refuseUnhonoured(backend, wished);
    const spec = { ...wished, mounts: await this.#mountsFor(wished, backend) };
    return { spec, fingerprint: specFingerprint(this.#installation(), backend, spec) };
  }

  /** How an open sandbox differs from what it would be now. */
  compare({ backend, spec, fingerprint }: ResolvedSpec & { backend: Backend }, now: ResolvedSpec): Comparison {
    if (now.fingerprint === fingerprint) return { differs: 'not', env: {} };
    const gone = Object.fromEntries(Object.keys(spec.env).map((name) => [name, '']));
    const env = Object.fromEntries(Object.entries({ ...gone, ...now.spec.env }).filter(([name, value]) => spec.env[name] !== value));
    const withOldVariables = specFingerprint(this.#installation(), backend, { ...now.spec, env: spec.env });
    return { differs: withOldVariables === fingerprint ? 'in variables' : 'in more', env };
  }

  /** The volumes, checked, and what Hermetic's home offers every sandbox. */
  async #mountsFor(wished: SandboxSpec, backend: Backend): Promise<Mount[]> {
    const volumes = await checkedVolumes(this.#loaded, wished.mounts);
    if (backend.traits.honours.mounts !== true) return volumes;
    return [...volumes, ...(await offerings(this.offered(wished)))];
  }

  /** What Hermetic's home offers this sandbox. */
  offered({ directory }: SandboxSpec): OfferingOptions {
    const { config, home } = this.#loaded;
    const credentialsDirectory = join(directory, 'credentials');
    return { hermeticHome: home, credentialFiles: config.terminal.credential_files, credentialsDirectory };
  }

  #mounts(): Mount[] {
    const { docker_volumes: volumes, docker_mount_cwd_to_workspace: mountHere } = this.#loaded.config.terminal;
    const here: Mount = { source: this.#workingDirectory, target: '/workspace', readOnly: false };
    return [...volumes.map(parseVolume), ...(mountHere ? [here] : [])];
  }

  #workdir(contained: boolean): string | undefined {
    const { cwd } = this.#loaded.config.terminal;
    if (contained || cwd === undefined || cwd.startsWith('~')) return cwd;
    // On the host itself a relative path means what it means in the shell that started Hermetic.
    return resolve(this.#workingDirectory, cwd);
  }
}
