import type { Assignment } from 'unbash';
import { type Shell, unionOf } from './shell.ts';
import { runningIndex, unknown } from './values.ts';
import { judgeVariable } from './variables.ts';
import { expandText, expandWord } from './words.ts';

/** Sets what a word such as `NAME=value` or `NAME=(a b)` sets. */
export function assign({ name, value, append, index }: Assignment, shell: Shell, scope = shell): void {
  if (index && expandText(index, scope).some((text) => runningIndex.test(`a[${text}`)))
    shell.judgement.report('code/unseen', undefined, name);
  if (value.type === 'ArrayValue') {
    const elements = value.elements.flatMap((element) => oneOf(expandWord(element, scope)));
    // Which element is where is not followed when the command says it.
    const known = append && !shell.readonlyNames.has(name) ? shell.arrays.get(name) : undefined;
    shell.judgement.lookThrough(known);
    const isPlaced = elements.some((text) => /^\[.*\]=/s.test(text)) || shell.readonlyNames.has(name);
    if (isPlaced || (append && !known)) {
      mix(
        name,
        elements.map((text) => text.replace(/^\[[^\]]*\]=/, '')),
        shell,
      );
      return;
    }
    shell.variables.delete(name);
    shell.arrays.set(name, [...(known ?? []), ...elements]);
    return;
  }
  // A tilde also means a home behind a colon.
  const texts = value.text.includes(':~') ? [unknown] : expandText(value, scope);
  if (index) mix(name, append ? [unknown] : texts, shell);
  else {
    const before = append ? (shell.variables.get(name) ?? shell.arrays.get(name) ?? [unknown]) : [''];
    shell.set(name, before.length * texts.length > 16 ? [unknown] : before.flatMap((one) => texts.map((text) => one + text)));
  }
}

/** An array of which only the elements are known, not where they stand. */
function mix(name: string, elements: readonly string[], shell: Shell): void {
  shell.variables.set(name, unionOf([[unknown], shell.variables.get(name) ?? shell.arrays.get(name) ?? [], elements]));
  shell.arrays.delete(name);
}

/** Which of several it is, is not known. */
function oneOf(choices: string[][]): string[] {
  return choices.length === 1 ? (choices[0] ?? []) : [unknown];
}

/** Builtins that declare variables. */
export const declaring = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);

/** The word an argument `NAME=value` is; a builtin that declares variables sets it. */
export function assignmentField(assignment: Assignment, shell: Shell, program: string, scope: Shell): string[][] {
  if (declaring.has(program)) {
    if (shell.callers.length > 0 && program !== 'export' && program !== 'readonly') shell.declareLocal(assignment.name);
    assign(assignment, shell, scope);
    // A builtin that declares takes such a text for a list.
    if (shell.variables.get(assignment.name)?.some((text) => text.startsWith('(')))
      shell.judgement.report('code/unseen', program, assignment.name);
    return [[assignment.name]];
  }
  if (assignment.value.type === 'ArrayValue') return [[assignment.text]];
  const prefix = `${assignment.name}${assignment.append ? '+' : ''}=`;
  return expandText(assignment.value, shell).map((text) => [prefix + text]);
}

/** Sets a variable for what follows; one that is exported counts for the programs that follow. */
export function assignLasting(assignment: Assignment, shell: Shell): void {
  assign(assignment, shell);
  judgeVariable(assignment.name, shell.variables.get(assignment.name) ?? [unknown], shell, shell.exported.has(assignment.name));
}
