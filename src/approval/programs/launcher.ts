import type { State } from '../shell/state.ts';
import { reportUnseen } from './builtins.ts';

type Texts = readonly string[];

/** Judges what a program starts. undefined when its arguments are to be looked at as those of any other. */
export type Launcher = (args: Texts, state: State, stdin: Texts, program: string) => Texts | undefined;

/** Judges code that a program hands to a shell. */
export function runCode(code: string, program: string, state: State, stdin: Texts): Texts {
  reportUnseen(code, program, state);
  return state.judgement.runSource(code, state.fork(), stdin);
}
