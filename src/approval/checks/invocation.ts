import type { State } from '../shell/state.ts';

/** One program with its arguments, once wrappers around it are taken off. */
export interface Invocation {
  program: string;
  args: readonly string[];
  state: State;
  stdin: readonly string[];
}
