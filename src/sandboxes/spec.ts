import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { cannotRestrict } from '../backends/cannot-restrict.ts';
import { pathsIn } from '../backends/sandbox-directory.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type Audience, engineSockets, sandboxSettings } from '../config/sandbox-settings.ts';
import { type Config, parseVolume } from '../config/schema.ts';
import { HermeticError } from '../core/errors.ts';
import type { Backend, Feature, Limits, Mount, Network, OpenListener, SandboxSpec } from '../core/sandbox.ts';
import { egressEnvironment } from '../egress/environment.ts';
import { hermetic } from '../lib/own-command.ts';
import { sandboxEnvironment } from './environment.ts';
import { copyCredentials, type HomeMountOptions, homeMounts } from './home-mounts.ts';
import { checkedMounts } from './mounts.ts';
import { type SandboxRequest, sandboxName } from './request.ts';
import type { SandboxSecrets } from './secrets.ts';

/** The inputs of a spec besides the request. The configuration is read each time: that of a running gateway changes. */
export interface SpecDeps {
  loaded(): LoadedConfig;
  /** For `terminal.cwd: .` and `terminal.docker_mount_cwd_to_workspace`. */
  workingDirectory: string;
  installation(): string;
  secrets: SandboxSecrets;
}

export interface ResolvedSpec {
  spec: SandboxSpec;
  /** Equal for sandboxes that are made alike. */
  fingerprint: string;
}

/** The spec of a session's sandbox, its mounts checked. Throws when the backend does not support it. */
export async function resolveSpec(
  deps: SpecDeps,
  request: SandboxRequest,
  backend: Backend,
  listener: OpenListener,
  name?: string,
): Promise<ResolvedSpec> {
  const network = await networkFor(deps.loaded().config, request.audience, backend);
  const configured = { ...configuredSpec(deps, request, backend, listener, name), network };
  assertSupported(backend, configured);
  const volumes = await checkedVolumes(deps.loaded(), configured.mounts);
  const home = backend.traits.honours.mounts === true ? await homeMounts(homeMountOptions(deps.loaded(), configured)) : [];
  const secrets = deps.secrets.inside(network, listener);
  // The proxy of a restricted network is the only one that can be reached.
  const proxy = network === 'restricted' ? egressEnvironment : {};
  const env = { ...secrets.trustEnv, ...configured.env, ...proxy, ...secrets.placeholders };
  const spec = { ...configured, env, mounts: [...volumes, ...home, ...secrets.mounts] };
  return { spec, fingerprint: specFingerprint(deps.installation(), backend, spec) };
}

/** Everything the configuration says about the sandbox of a session on a backend, unchecked. */
export function configuredSpec(
  deps: SpecDeps,
  request: SandboxRequest,
  backend: Backend,
  listener: OpenListener,
  name = sandboxName(deps.installation(), request.parts),
): SandboxSpec {
  const { config, environment } = deps.loaded();
  const { terminal } = config;
  const settings = sandboxSettings(config, request.audience);
  const contained = backend.traits.isolation !== 'none';
  const wishes = { forward: terminal.docker_forward_env, passthrough: terminal.env_passthrough, fixed: terminal.docker_env };
  const { env, withheld } = sandboxEnvironment(wishes, environment);
  for (const variable of withheld) {
    listener.notice(`${variable} looks like a credential and stays outside. To mean it, name it in terminal.docker_forward_env.`);
  }
  const here: Mount = { source: deps.workingDirectory, target: '/workspace', readOnly: false };
  const mounts = [...terminal.docker_volumes.map(parseVolume), ...(terminal.docker_mount_cwd_to_workspace ? [here] : [])];
  if (!contained && mounts.length > 0) listener.notice(`Volumes are not mounted: ${backend.kind} runs on the host itself.`);
  const { mounts: supportsMounts } = backend.traits.honours;
  if (contained && supportsMounts !== true && terminal.credential_files.length > 0)
    listener.notice(`The files of terminal.credential_files stay outside: ${supportsMounts}.`);
  return {
    name,
    session: request.title,
    directory: directoryOf(deps, backend, name),
    image: request.image ?? settings.imageFor(backend.kind),
    workdir: workdirIn(deps, contained),
    env,
    mounts: contained ? mounts : [],
    limits: limitsOf(config),
    network: terminal.network,
    persistent: terminal.container_persistent,
    user: terminal.docker_run_as_host_user && contained ? 'host' : 'default',
    idleSeconds: settings.idleSeconds,
    // A gateway comes back for its background processes. The command line may not, so nothing of it outlives its idle time.
    backgroundSeconds: request.audience === 'cli' ? settings.idleSeconds : settings.backgroundSeconds,
  };
}

/**
 * The network of sandboxes on a backend: as configured. When nothing is, people in chats get a restricted one where the backend supports that.
 * Throws when a restricted one is configured and the backend does not support it.
 */
export async function networkFor({ terminal }: Config, audience: Audience, backend: Backend): Promise<Network | undefined> {
  if (terminal.network !== 'restricted' && (terminal.network !== undefined || audience === 'cli')) return terminal.network;
  const answer = await backend.canRestrict();
  if (answer === true) return 'restricted';
  if (terminal.network === undefined) return undefined;
  throw cannotRestrict(backend.kind, answer);
}

export function limitsOf({ terminal }: LoadedConfig['config']): Limits {
  const { container_cpu: cpus, container_memory: memoryMb, container_disk: diskMb, container_pids: pids } = terminal;
  return { cpus, memoryMb, diskMb, pids };
}

function workdirIn(deps: SpecDeps, contained: boolean): string | undefined {
  const { cwd } = deps.loaded().config.terminal;
  if (contained || cwd === undefined || cwd.startsWith('~')) return cwd;
  // On the host itself a relative path is relative to the directory Hermetic was started in.
  return resolve(deps.workingDirectory, cwd);
}

function directoryOf(deps: SpecDeps, backend: Backend, name: string): string {
  return join(deps.loaded().config.terminal.sandbox_dir, backend.kind, name);
}

/** Whether the sandbox of this name has files on a backend. */
export function hasFiles(deps: SpecDeps, backend: Backend, name: string): boolean {
  return existsSync(pathsIn(directoryOf(deps, backend, name)).record);
}

/** The mounts, resolved. Refuses a source that is missing or would hand over the host. */
export async function checkedVolumes(loaded: LoadedConfig, mounts: readonly Mount[]): Promise<Mount[]> {
  if (mounts.length === 0) return [];
  const { config, home, environment } = loaded;
  const forbidden = {
    [home]: 'it is the home of Hermetic itself',
    [join(environment.HOME ?? homedir(), '.ssh')]: 'it holds your keys',
  };
  const allowDangerous = config.terminal.allow_dangerous_mounts;
  return await checkedMounts(mounts, { allowDangerous, forbidden, engineSockets: engineSockets(loaded) });
}

/** The running sandbox sees the copies, also those that are made again when the session comes back. */
export async function copyCredentialsFor(deps: SpecDeps, backend: Backend, spec: SandboxSpec): Promise<void> {
  if (backend.traits.honours.mounts === true) await copyCredentials(homeMountOptions(deps.loaded(), spec));
}

function homeMountOptions({ config, home }: LoadedConfig, { directory }: SandboxSpec): HomeMountOptions {
  const credentialsDirectory = join(directory, 'credentials');
  return { hermeticHome: home, credentialFiles: config.terminal.credential_files, credentialsDirectory };
}

/** Whether a spec asks for each feature. A new feature does not compile until it has a line here. */
const asksFor: Record<Feature, (spec: SandboxSpec) => boolean> = {
  image: (spec) => spec.image !== undefined,
  mounts: (spec) => spec.mounts.length > 0,
  'host-user': (spec) => spec.user === 'host',
  'network-none': (spec) => spec.network === 'none',
  'network-open': (spec) => spec.network === 'open',
  ephemeral: (spec) => !spec.persistent,
};

/** Throws when the spec asks for a feature that the backend does not support. No feature is ever left out without a word. */
export function assertSupported(backend: Backend, spec: SandboxSpec): void {
  const reasons = (Object.keys(asksFor) as Feature[])
    .filter((feature) => asksFor[feature](spec))
    .map((feature) => backend.traits.honours[feature])
    .filter((answer) => answer !== true);
  if (reasons.length > 0) throw cannotHonour(backend, reasons);
}

function cannotHonour({ kind }: Backend, reasons: readonly string[]): HermeticError {
  return new HermeticError('backend/cannot-honour', `The ${kind} backend cannot do what is asked: ${reasons.join('; ')}.`, {
    hint: `Change the setting, or use another backend (${hermetic} doctor shows which work here).`,
  });
}

/**
 * Equal for two specs that ask for the same sandbox of a backend, whichever session it belongs to and wherever its files are. The hash that an engine
 * labels a container with (`engine/spec-hash`) is another thing: it also covers the engine's part, such as the id of the image.
 * Security: goes into the database and into listings, so values of variables enter as a hash bound to the installation.
 */
export function specFingerprint(installation: string, { kind, settings }: Pick<Backend, 'kind' | 'settings'>, spec: SandboxSpec): string {
  const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
  const env = Object.entries(spec.env).map(([name, value]) => [name, digest([installation, name, value])]);
  const { cpus, memoryMb, diskMb, pids } = spec.limits;
  // Credential files are mounted from a place of the sandbox's own: only that they are counts.
  const mounts = spec.mounts.map(({ source, target, readOnly }) => [source.replace(spec.directory, ''), target, readOnly]);
  const rest = [kind, spec.image ?? null, spec.workdir ?? null, spec.network ?? null, spec.persistent, spec.user];
  return digest([rest, env.sort(), mounts, [cpus, memoryMb, diskMb, pids], settings]).slice(0, 32);
}
