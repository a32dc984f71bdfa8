import { judgeValue, type Place } from './kinds.ts';
import { runProgram } from './run.ts';
import { below, hasPlaceholder, plainToken, unknown, unseenRule } from './values.ts';
import { runSource } from './walk.ts';

type Texts = readonly string[];

const shells = /^(?:ba|da|k|z|a)?sh$/;

/** Commands that a program reads from its standard input and runs. */
export function runInput({ program, shell, stdin }: Place): void {
  for (const text of stdin.length === 0 ? [unknown] : stdin) {
    if (shells.test(program) && !hasPlaceholder(text)) runSource(text, shell.child(), [unknown]);
    else shell.judgement.report(unseenRule(text), program);
  }
}

/** `sh -c text name words…` */
export function runText(text: string, rest: Texts, { shell, stdin }: Place): void {
  const inner = shell.child();
  inner.parameters = rest.slice(1);
  inner.variables.set('0', [rest[0] ?? 'bash']);
  runSource(text, inner, stdin);
}

/** A command up to `;` or `+`, with `{}` for what is found below the operands. How many words it took. */
export function runUntil(first: string, rest: Texts, roots: Texts, place: Place): number {
  const end = rest.findIndex((word, at) => word === ';' || (word === '+' && rest[at - 1] === '{}'));
  const words = [first, ...(end === -1 ? rest : rest.slice(0, end))];
  for (const root of roots.length === 0 ? ['.'] : roots) {
    if (root === '(' || root === '!' || root === ')') continue;
    for (const found of [root, `${root}/${below}`]) {
      // The root itself matters where something stands behind it, such as `..`.
      const command = words.map((word) => (word === '{}' ? `${root}/${below}` : word.replaceAll('{}', found)));
      judgeValue('exec', command[0] ?? '', { ...place, rest: command.slice(1) });
    }
  }
  return end === -1 ? rest.length : end + 1;
}

/** xargs: what it reads stands behind the words, or in the place that `-I` names. */
export function runWithInput(words: Texts, { shell, stdin: input, replaced, splits }: Place): void {
  const stdin = input.filter((text) => text !== '');
  const found =
    !splits && stdin.length > 0 && stdin.every((text) => text.endsWith(below) || text === plainToken || /^[\w./*?-]+$/.test(text))
      ? stdin
      : [unknown];
  for (const text of found) {
    const command = replaced === undefined ? [...words, text] : words.map((word) => word.replaceAll(replaced, text));
    runProgram(command, shell.fork(), [unknown]);
  }
}
