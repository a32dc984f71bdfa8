import { backendDrivers } from '../backends/index.ts';
import type { LoadedConfig } from '../config/load.ts';
import { backendOptions } from '../config/sandbox-settings.ts';
import { backendNames } from '../config/schema.ts';
import type { Egress } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import type { Backend } from '../core/sandbox.ts';
import { nearest } from '../lib/nearest.ts';

/** Every backend by name, in the order of preference. */
export function createBackends({ config, environment }: LoadedConfig, installation: string, egress: Egress): Map<string, Backend> {
  const context = { installation, sandboxesDirectory: config.terminal.sandbox_dir, environment, egress };
  return new Map(backendDrivers.map((driver) => [driver.kind, driver.create(context, backendOptions(driver, config))]));
}

/** The backends a name stands for: one, or for `auto` those to try in turn. */
export function candidatesFor(name: string, backends: ReadonlyMap<string, Backend>): Backend[] {
  if (name !== 'auto') return [backendNamed(name, backends)];
  const all = backendDrivers.filter(({ auto }) => auto).map(({ kind }) => backendNamed(kind, backends));
  const last = all.findIndex(({ traits }) => traits.insists !== undefined);
  return last === -1 ? all : all.slice(0, last + 1);
}

function backendNamed(kind: string, backends: ReadonlyMap<string, Backend>): Backend {
  const backend = backends.get(kind);
  if (backend) return backend;
  const close = nearest(kind, backendNames);
  throw new HermeticError('backend/unknown', `There is no backend ${JSON.stringify(kind)}${close ? `; did you mean ${close}?` : '.'}`, {
    hint: `Valid names: ${backendNames.join(', ')}.`,
  });
}

/** Failures after which `auto` tries the next backend: this one cannot work here with any spec, or not with the network that is configured. In words that reveal nothing of the host. */
const skippable: ReadonlyMap<string, string> = new Map([
  ['backend/not-installed', 'is not installed'],
  ['backend/not-running', 'is not running'],
  ['backend/not-permitted', 'may not be used'],
  ['backend/unavailable', 'does not work'],
  ['backend/cannot-restrict', 'cannot restrict the network'],
  ['sandbox/no-image', 'has no image'],
]);

/** A backend that `auto` skipped, and why. */
export interface Skipped {
  backend: Backend;
  error: HermeticError;
}

/**
 * Whether `auto` may skip a backend that a session could not be opened on; throws why not.
 * Security: a setting that only this backend has is never dropped, and a session never gets an empty sandbox in place of its files.
 */
export function skipOrThrow(error: unknown, backend: Backend, hasFiles: boolean): Skipped {
  if (!(error instanceof HermeticError) || !skippable.has(error.code)) throw error;
  const reason = hasFiles ? `The files of this session are on ${backend.kind}` : backend.traits.insists;
  if (reason === undefined) return { backend, error };
  const ways = 'name another backend: --backend for one command, terminal.backend or gateway.terminal_backend in the configuration';
  const hint = `${error.hint ? `${sentence(error.hint)} ` : ''}To work elsewhere${hasFiles ? ' without them' : ''}, ${ways}.`;
  throw new HermeticError(error.code, `${sentence(error.message)} ${reason}, so no other backend is tried.`, { hint, cause: error });
}

/** Why a session runs on another backend than the first: in full, and for people in a chat. */
export function fallbackNotice(skipped: readonly Skipped[], { kind }: Backend): [text: string, inChat: string] {
  const short = skipped.map(({ backend, error }) => `${backend.kind} ${skippable.get(error.code)}`).join(', ');
  return [`${reasons(skipped)} This session runs on ${kind} instead.`, `This session runs on ${kind}: ${short}.`];
}

export function noBackendError(skipped: readonly Skipped[]): HermeticError {
  return new HermeticError('backend/unavailable', `No sandbox can be made on this machine. ${reasons(skipped)}`, {
    hint: `${remedy(skipped)}Commands are never run without a sandbox unless terminal.backend is local.`,
  });
}

/** Of those that are tried in turn, the last needs the least. */
function remedy(skipped: readonly Skipped[]): string {
  const last = skipped.at(-1);
  return last?.error.hint ? `Fix for ${last.backend.kind}: ${sentence(last.error.hint)} ` : '';
}

function reasons(skipped: readonly Skipped[]): string {
  return skipped.map(({ backend, error }) => `${backend.kind}: ${sentence(error.message)}`).join(' ');
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
