import { type Function as FunctionNode, forEachChild, type SyntaxNode } from 'unbash';
import { shellQuote } from '../lib/shell-quote.ts';
import { declaring } from './assign.ts';
import { parseCommand } from './parse.ts';
import { isKnown } from './run.ts';
import { type Shell, unionOf } from './shell.ts';
import { hasPlaceholder, unknown } from './values.ts';
import { runNode, runSource } from './walk.ts';

type Texts = readonly string[];

/** A function is judged where it is called, with the arguments of that call. */
export function defineFunction(node: FunctionNode, shell: Shell): void {
  const name = node.name.value;
  shell.functions.set(name, node);
  shell.aliases.delete(name);
  // Security: this is read where it stands, before it is called.
  if (declaring.has(name) || name === 'cd' || name === 'set') shell.judgement.report('code/unseen', undefined, name);
  // Security: these are called without their name standing there as a plain word.
  if (name.includes('/') || name === 'command_not_found_handle') shell.judgement.report('code/unseen', undefined, name);
  if (startsItself(node, name)) shell.judgement.report('system/fork-bomb', undefined, name);
}

/** Whether a function starts itself beside itself: in the background or in a pipe. */
function startsItself(node: FunctionNode, name: string): boolean {
  let beside = false;
  const look = (inner: SyntaxNode, apart: boolean): void => {
    if (inner.type === 'Command' && inner.name?.value === name && apart) beside = true;
    const forks =
      apart || (inner.type === 'Statement' && inner.background === true) || (inner.type === 'Pipeline' && inner.commands.length > 1);
    if (!beside) forEachChild(inner, (child) => look(child, forks || inner.type === 'Coproc'));
  };
  look(node.body, false);
  return beside;
}

/** Runs a function or alias of the command or of the session; undefined when there is none of that name. */
export function runDefined(name: string, args: Texts, shell: Shell, stdin: Texts): Texts | undefined {
  loadDefinition(name, shell);
  const alias = shell.aliases.get(name);
  const node = shell.functions.get(name);
  if (alias === undefined && !node) return undefined;
  if (shell.callers.includes(name)) {
    // An alias may begin with the program of its own name.
    if (alias !== undefined) return undefined;
    // Security: what a function that calls itself ends up doing is not followed.
    shell.judgement.report('shell/too-complex', undefined, name);
    return [unknown];
  }
  if (node) return call(name, args, shell, () => runNode(node.body, shell, stdin));
  const { callers } = shell;
  shell.callers = [...callers, name];
  // Security: an alias that ends in a blank has the next word looked up too, so what it does is only known when it runs.
  if (/\s$/.test(alias ?? '') || args.some(hasPlaceholder)) shell.judgement.report('code/unseen', undefined, name);
  const output = runSource([alias, ...args.map(shellQuote)].join(' '), shell.fork(), stdin);
  shell.callers = callers;
  // Security: with a quote in it, the name means the program and not the alias.
  return isKnown(name, shell) ? undefined : output;
}

function call(name: string, args: Texts, shell: Shell, run: () => Texts): Texts {
  const { parameters, callers, frame, exits } = shell;
  shell.exits = undefined;
  shell.parameters = args;
  shell.callers = [...callers, name];
  shell.frame = { saved: new Map(), returns: [] };
  const { saved, returns } = shell.frame;
  const output = run();
  if (returns.length > 0) shell.become([...(shell.ended ? [] : [shell.fork()]), ...returns]);
  shell.parameters = parameters;
  shell.callers = callers;
  shell.frame = frame;
  shell.exits = exits;
  shell.ended = false;
  // Security: after the function a name means what it meant before, or, where it was not made local on every way, what the function set.
  for (const [local, before] of saved) {
    shell.variables.set(local, unionOf([before, shell.variables.get(local) ?? shell.arrays.get(local) ?? []]));
    shell.arrays.delete(local);
  }
  return output;
}

/** Functions and aliases of the session, as bash printed them. */
function loadDefinition(name: string, shell: Shell): void {
  const { definitions } = shell.context;
  if (shell.isChild || shell.functions.has(name) || shell.aliases.has(name) || !Object.hasOwn(definitions, name)) return;
  const source = definitions[name] ?? '';
  const parsed = parseCommand(source);
  const first = 'script' in parsed ? parsed.script.commands[0]?.command : undefined;
  if (first?.type === 'Function' && first.name.value === name) shell.functions.set(name, first);
  else if (first?.type === 'Command' && first.name?.value === 'alias') runSource(source, shell, ['']);
  else shell.judgement.report('code/unseen', undefined, name);
}
