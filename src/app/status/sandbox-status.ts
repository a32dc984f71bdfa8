import { insteadOfEnforcing, unenforcedLimits } from '../../backends/unenforced-limits.ts';
import type { Audience } from '../../config/sandbox-settings.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Backend, Check, Enforcement, Isolation, Limits } from '../../core/sandbox.ts';
import type { ProofEntry } from '../../core/store.ts';
import { durationText } from '../../lib/duration.ts';
import { hermetic } from '../../lib/own-command.ts';
import { sentence } from '../../sandboxes/backend-choice.ts';
import { latestProof } from '../../sandboxes/prove-backend.ts';
import { limitsOf } from '../../sandboxes/spec.ts';
import type { App } from '../app.ts';
import { findNetworkStatus, type NetworkRules, type NetworkStatus, networkText } from './network-status.ts';

/** Where sessions of one audience run, as a check found it. */
export interface SandboxStatus extends NetworkStatus {
  audience: Audience;
  configured: string;
  /** undefined when nothing that is configured works. */
  backend: Backend | undefined;
  image: string | undefined;
  idleSeconds: number;
  limits: Limits;
  /** Whether the backend holds each of them, and how. */
  enforcement: Enforcement | undefined;
  unusable: { backend: string; reason: string; fix: string }[];
  /** The latest proof of a sandbox with these settings. */
  proof: ProofEntry | undefined;
}

export type UsableBackend = Pick<SandboxStatus, 'backend' | 'enforcement' | 'unusable'>;

type CheckBackend = (backend: Backend, image: string | undefined) => Promise<Check>;

/** The first of the configured backends that works. With `auto`, one that cannot restrict the network is passed over when that is configured. */
export async function usableBackend(
  app: App,
  audience: Audience,
  checkBackend: CheckBackend = (backend, image) => backend.check(image),
): Promise<UsableBackend> {
  const settings = app.settings(audience);
  const candidates = app.candidates(settings.backend);
  const mustRestrict = candidates.length > 1 && app.loaded.config.terminal.network === 'restricted';
  const unusable: SandboxStatus['unusable'] = [];
  for (const backend of candidates) {
    const check = await checkBackend(backend, settings.imageFor(backend.kind));
    const obstacle = check.usable ? (mustRestrict ? await backend.canRestrict() : true) : check.reason;
    if (check.usable && obstacle === true) return { backend, enforcement: check.limits, unusable };
    unusable.push({ backend: backend.kind, reason: String(obstacle), fix: check.usable ? '' : check.fix });
  }
  return { backend: undefined, enforcement: undefined, unusable };
}

export async function findSandboxStatus(app: App, audience: Audience): Promise<SandboxStatus> {
  const settings = app.settings(audience);
  const { backend, enforcement, unusable } = await usableBackend(app, audience);
  const proof = backend && (await proofOf(app, backend, audience, unusable));
  return {
    audience,
    configured: settings.backend,
    backend,
    image: backend && settings.imageFor(backend.kind),
    ...(await findNetworkStatus(app.loaded, audience, backend)),
    idleSeconds: settings.idleSeconds,
    limits: limitsOf(app.loaded.config),
    enforcement,
    unusable,
    proof,
  };
}

/** Throws when the backend does not support the settings, and says why no other one is used. */
async function proofOf(
  app: App,
  backend: Backend,
  audience: Audience,
  unusable: SandboxStatus['unusable'],
): Promise<ProofEntry | undefined> {
  try {
    return await latestProof(app.deps, backend, audience);
  } catch (error) {
    if (!(error instanceof HermeticError) || unusable.length === 0) throw error;
    const others = unusable.map(({ backend: kind, reason }) => `${kind} cannot be used: ${sentence(reason)}`).join(' ');
    throw new HermeticError(error.code, `${error.message} ${others}`, { hint: error.hint, cause: error });
  }
}

/** The same as JSON, for other processes. */
export function sandboxStatusFacts(status: SandboxStatus) {
  const { configured, backend, image, network, networkRules, networkWarning, idleSeconds, unusable, proof } = status;
  // Named, so that the declarations of the package can name it.
  const rules: NetworkRules | null = networkRules ?? null;
  return {
    configured,
    used: backend?.kind ?? null,
    isolation: backend?.traits.isolation ?? null,
    image: image ?? null,
    network,
    networkRules: rules,
    networkWarning: networkWarning ?? null,
    idleSeconds,
    unusable,
    unenforced: unenforcedIn(status),
    proof: proof ? { held: proof.held, provenAt: proof.provenAt.toISOString() } : null,
  };
}

export type SandboxStatusFacts = ReturnType<typeof sandboxStatusFacts>;

/** A sentence for each limit that does not hold here. */
function unenforcedIn({ backend, limits, enforcement }: SandboxStatus): string[] {
  return backend && enforcement ? unenforcedLimits(limits, enforcement, backend.traits) : [];
}

const units: Readonly<Record<keyof Limits, string>> = { cpus: 'cpus', memoryMb: 'MB memory', diskMb: 'MB disk', pids: 'processes' };

export function cpuText(count: number): string {
  return `${count} ${count === 1 ? 'cpu' : units.cpus}`;
}

/** The details of a sandbox status, in words. */
export interface SandboxStatusText {
  /** Why not another backend. */
  skipped: string[];
  limits: string;
  sandboxes: string;
  /** undefined where nothing contains anything, and so there is nothing to prove. */
  proof: string | undefined;
}

export function describeSandboxStatus(app: App, status: SandboxStatus): SandboxStatusText {
  const { audience, backend, limits, enforcement, idleSeconds, unusable, proof } = status;
  const { gateway, terminal } = app.loaded.config;
  const limit = (name: keyof Limits): string => {
    if (limits[name] === 0) return `no limit of ${units[name]}`;
    const held =
      !backend || enforcement?.[name].enforced
        ? ''
        : ` (${insteadOfEnforcing(name, backend.traits)}: ${enforcement?.[name].how ?? 'unknown'})`;
    return `${name === 'cpus' ? cpuText(limits.cpus) : `${limits[name]} ${units[name]}`}${held}`;
  };
  const spares =
    terminal.warm_spares === 0 ? 'no warm spares' : `${terminal.warm_spares} warm ${terminal.warm_spares === 1 ? 'spare' : 'spares'}`;
  const what = backend?.traits.isolation === 'none' ? 'none; a shell and a directory' : 'one';
  const sharing = `${what} for each ${gateway.sandbox_scope}, at most ${gateway.max_sandboxes} at once`;
  const closed = `closed after ${durationText(idleSeconds * 1000)} idle`;
  const tried = proof && `${proof.held ? 'held' : 'BROKE'} when it was tried at ${proof.provenAt.toISOString()}`;
  return {
    // Where one works the others need no remedy.
    skipped: unusable.map(({ backend: kind, reason, fix }) => `not ${kind}: ${backend ? reason : withFix(reason, fix)}`),
    limits: (['cpus', 'memoryMb', 'diskMb', 'pids'] as const).map(limit).join(', '),
    sandboxes: audience === 'messaging' ? `${sharing}, ${closed}; ${spares}` : closed,
    proof: !backend || backend.traits.isolation === 'none' ? undefined : (tried ?? 'not tried yet'),
  };
}

function withFix(reason: string, fix: string): string {
  return fix === '' ? reason : `${sentence(reason)} Fix: ${fix}`;
}

/** Why nothing can be run, and what to do, in few words; undefined when something can. */
export function sandboxObstacle({ backend, configured, unusable }: SandboxStatus): string | undefined {
  if (backend) return undefined;
  // Of those that are tried in turn, the last needs the least.
  const last = unusable.at(-1);
  const why = last ? ` ${last.backend}: ${withFix(last.reason, last.fix)}` : '';
  const more = unusable.length > 1 ? ` (${hermetic} doctor names other ways)` : '';
  return `Nothing can be run: no sandbox backend works here (backend ${configured}).${why}${more}`;
}

const isolationNames: Readonly<Record<Exclude<Isolation, 'none'>, string>> = {
  process: 'kernel namespaces',
  container: 'container',
  machine: 'a machine of its own',
};

/** For the log of a gateway that starts. Nothing of it is secret. */
export function sandboxStatusLines(app: App, status: SandboxStatus): string[] {
  const { audience, backend, configured, image, networkObstacle, networkWarning } = status;
  const network = `${networkText(status)}${networkObstacle ? ` (${networkObstacle})` : ''}`;
  const { skipped, limits, sandboxes, proof } = describeSandboxStatus(app, status);
  const who = audience === 'messaging' ? 'Chat sessions' : 'Sessions of the command line';
  if (!backend) return [`${who} cannot run: no sandbox backend works here (backend ${configured}).`, ...skipped];
  const { isolation } = backend.traits;
  return [
    isolation === 'none'
      ? `${who} run on ${backend.kind}, without a sandbox (backend ${configured}).`
      : `${who} run in ${backend.kind} sandboxes (backend ${configured}, isolation: ${isolationNames[isolation]}).`,
    ...skipped,
    image === undefined ? `network ${network}` : `image ${image}, network ${network}`,
    ...(networkWarning === undefined ? [] : [networkWarning]),
    `limits: ${limits}`,
    `sandboxes: ${sandboxes}`,
    ...(proof === undefined ? [] : [`containment ${proof}`]),
  ];
}

/**
 * The warning when people in chats would get the host. Names the backends that work on this machine. undefined when sessions are contained,
 * or when no backend works.
 */
export async function unsafeWarning(app: App, { audience, backend }: SandboxStatus): Promise<string | undefined> {
  if (audience !== 'messaging' || backend === undefined || backend.traits.isolation !== 'none') return undefined;
  const choices: string[] = [];
  const { imageFor } = app.settings(audience);
  for (const other of app.backends.values()) {
    if (other.traits.isolation !== 'none' && (await other.check(imageFor(other.kind))).usable) choices.push(other.kind);
  }
  const remedy = choices.map((kind) => `  ${hermetic} config set gateway.terminal_backend ${kind}`);
  return [
    `WARNING: Chat sessions run on ${backend.kind}, WITHOUT A SANDBOX.`,
    'Anyone who can send a message, and any text the agent reads, can run commands on this machine as this user.',
    choices.length > 0
      ? 'These backends work here and isolate them:'
      : `No backend with isolation works here: ${hermetic} doctor says why.`,
    ...remedy,
    'Read docs/sandboxes/local.md before you continue.',
  ].join('\n');
}
