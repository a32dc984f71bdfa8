import { randomUUID } from 'node:crypto';
import { type Audience, sandboxSettings } from '../config/sandbox-settings.ts';
import type { Backend, OpenListener, OpenSandbox } from '../core/sandbox.ts';
import type { Store } from '../core/store.ts';
import { candidatesFor, fallbackNotice, noBackendError, type Skipped, skipOrThrow } from './backend-choice.ts';
import { ensureContained } from './containment.ts';
import { limitDisk } from './disk-limit.ts';
import { ensureWorkdir } from './ensure-workdir.ts';
import { openRecorded } from './record.ts';
import { type SandboxRequest, sandboxName } from './request.ts';
import { copyCredentialsFor, hasFiles, type ResolvedSpec, resolveSpec, type SpecDeps } from './spec.ts';

/** The parts of the program that opening a sandbox uses. */
export interface SandboxDeps extends SpecDeps {
  /** By name, in the order of preference. */
  backends(): ReadonlyMap<string, Backend>;
  store(): Promise<Store>;
  /** How long sandboxes stay this program's after it was last heard of. Default: `maxLeaseMs`. */
  leaseMs?: number;
  /** Writes an event of a sandbox to the audit log. */
  note(sandbox: Pick<OpenedSandbox, 'backend' | 'spec'>, parts: readonly string[], outcome: string): void;
  /** Told on which backend a sandbox was opened; undefined when on none. */
  onOpened(request: SandboxRequest, backend: Backend | undefined): void;
  /** Told of a new proof. */
  onProof(): Promise<void>;
}

export interface OpenedSandbox extends ResolvedSpec {
  sandbox: OpenSandbox;
  backend: Backend;
}

/** Opens the session's sandbox on the configured backend. With `auto`, on the first that works; the listener is told why an earlier one does not. */
export async function openSandbox(
  deps: SandboxDeps,
  request: SandboxRequest,
  listener: OpenListener,
  signal?: AbortSignal,
): Promise<OpenedSandbox> {
  try {
    const opened = await openOnFirst(deps, request, listener, signal);
    deps.onOpened(request, opened.backend);
    return opened;
  } catch (error) {
    if (!signal?.aborted) deps.onOpened(request, undefined);
    throw error;
  }
}

async function openOnFirst(
  deps: SandboxDeps,
  request: SandboxRequest,
  listener: OpenListener,
  signal: AbortSignal | undefined,
): Promise<OpenedSandbox> {
  const choice = backendOf(deps, request);
  const all = candidatesFor(choice, deps.backends());
  const skipped: Skipped[] = [];
  for (const backend of all) {
    let opened: OpenedSandbox;
    try {
      opened = await openOn(deps, request, backend, listener, signal);
    } catch (error) {
      if (choice !== 'auto') throw error;
      skipped.push(skipOrThrow(error, backend, await hasSessionFiles(deps, request, backend)));
      continue;
    }
    if (skipped.length > 0) listener.notice(...fallbackNotice(skipped, backend));
    await ensureContained(deps, opened, request.audience, listener);
    const others = all.filter((other) => other !== backend);
    if (request.parts.length > 0) await tellOfFilesElsewhere(deps, request, others, listener);
    return opened;
  }
  throw noBackendError(skipped);
}

/** One backend: name, spec, record, open, limit the disk, enter the directory. */
export async function openOn(
  deps: SandboxDeps,
  request: SandboxRequest,
  backend: Backend,
  listener: OpenListener,
  signal?: AbortSignal,
): Promise<OpenedSandbox> {
  const { parts, isPassing, isEphemeral = isPassing ?? false } = request;
  const name = await nameFor(deps, request, backend);
  const { spec, fingerprint } = await resolveSpec(deps, request, backend, listener, name);
  await copyCredentialsFor(deps, backend, spec);
  const ledger = deps.store().then(({ sandboxes }) => sandboxes);
  const note = (outcome: string): void => deps.note({ backend, spec }, parts, outcome);
  try {
    const record = { backend, spec, parts, isEphemeral, fingerprint, leaseMs: deps.leaseMs, ledger, note };
    const sandbox = await openRecorded(record, listener, signal);
    limitDisk(sandbox, backend, spec, listener);
    if (spec.workdir !== undefined) await ensureWorkdir(sandbox, backend, spec);
    return { sandbox, backend, spec, fingerprint };
  } catch (error) {
    // Another program has given the session a spare meanwhile.
    const isRenamed = parts.length > 0 && name !== (await nameFor(deps, request, backend).catch(() => name));
    if (isRenamed) return await openOn(deps, request, backend, listener, signal);
    throw error;
  }
}

/** The backends that may hold the session's sandbox, in the order in which they are tried. */
export function candidates(deps: SandboxDeps, request: Pick<SandboxRequest, 'audience' | 'backend'>): Backend[] {
  return candidatesFor(backendOf(deps, request), deps.backends());
}

function backendOf(deps: SandboxDeps, { backend, audience }: { backend?: string | undefined; audience: Audience }): string {
  return backend ?? sandboxSettings(deps.loaded().config, audience).backend;
}

/** A session that was given a spare keeps the spare's name. One whose files are at hand need not wait for the state database. */
async function nameFor(deps: SandboxDeps, { parts }: SandboxRequest, backend: Backend): Promise<string> {
  if (parts.length === 0) return sandboxName(deps.installation(), ['spare', randomUUID()]);
  const derived = sandboxName(deps.installation(), parts);
  if (hasFiles(deps, backend, derived)) return derived;
  const [known] = await (await deps.store()).sandboxes.list({ backend: backend.kind, session: parts });
  return known?.name ?? derived;
}

async function hasSessionFiles(deps: SandboxDeps, request: SandboxRequest, backend: Backend): Promise<boolean> {
  return hasFiles(deps, backend, await nameFor(deps, request, backend));
}

/** Files of a session do not move between backends, so a person should not look for them in vain. */
async function tellOfFilesElsewhere(deps: SandboxDeps, request: SandboxRequest, others: Backend[], listener: OpenListener): Promise<void> {
  for (const other of others) {
    if (!(await hasSessionFiles(deps, request, other))) continue;
    const text = `This session also has files on ${other.kind}`;
    listener.notice(`${text} (--backend ${other.kind}).`, `${text}, which are not here.`);
  }
}
