import { HermeticError } from '../core/errors.ts';
import type { Backend } from '../core/sandbox.ts';

/** Failures that mean `auto` may look further: the backend cannot work here, whatever the spec. In words that say nothing of the host. */
const passable: ReadonlyMap<string, string> = new Map([
  ['backend/not-installed', 'is not installed'],
  ['backend/not-running', 'is not running'],
  ['backend/not-permitted', 'may not be used'],
  ['backend/unavailable', 'does not work'],
  ['sandbox/no-image', 'has no image'],
]);

/** Why a backend was passed over. */
export interface Passed {
  backend: Backend;
  error: HermeticError;
}

/**
 * What `auto` does about a backend that a session could not be opened on: it goes on with the next one, or throws why not.
 * Security: whoever asked for what only this backend has gets nothing else. And nobody finds an empty place where their files were.
 */
export function passOver(error: unknown, backend: Backend, hasFiles: boolean): Passed {
  if (!(error instanceof HermeticError) || !passable.has(error.code)) throw error;
  const reason = hasFiles ? `The files of this session are on ${backend.kind}` : backend.traits.insists;
  if (reason === undefined) return { backend, error };
  const ways = 'name another backend: --backend for one command, terminal.backend or gateway.terminal_backend in the configuration';
  const hint = `${error.hint ? `${sentence(error.hint)} ` : ''}To work elsewhere${hasFiles ? ' without them' : ''}, ${ways}.`;
  throw new HermeticError(error.code, `${sentence(error.message)} ${reason}, so no other backend is tried.`, { hint, cause: error });
}

/** For whoever gets another backend than the first: in full, and for people in a chat. */
export function insteadNotice(passed: readonly Passed[], { kind }: Backend): [text: string, inChat: string] {
  const short = passed.map(({ backend, error }) => `${backend.kind} ${passable.get(error.code)}`).join(', ');
  return [`${reasons(passed)} This session runs on ${kind} instead.`, `This session runs on ${kind}: ${short}.`];
}

export function noneWorks(passed: readonly Passed[]): HermeticError {
  return new HermeticError('backend/unavailable', `No sandbox can be made on this machine. ${reasons(passed)}`, {
    hint: 'Install one: sudo apt-get install bubblewrap. Commands are never run without a sandbox unless terminal.backend is local.',
  });
}

function reasons(passed: readonly Passed[]): string {
  return passed.map(({ backend, error }) => `${backend.kind}: ${sentence(error.message)}`).join(' ');
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
