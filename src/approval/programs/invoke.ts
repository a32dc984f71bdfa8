import { shellQuote } from '../../lib/shell-quote.ts';
import { applyRules } from '../checks/index.ts';
import { resolvePaths } from '../checks/resolve.ts';
import { noteAssignment } from '../shell/assignments.ts';
import { parseCommand } from '../shell/parse-command.ts';
import type { State } from '../shell/state.ts';
import { hasPlaceholder, isFromNetwork, parameter, plainToken, unknown, unknownWord } from '../shell/values.ts';
import { runBuiltin } from './builtins.ts';
import { runDownloaded, runInterpreter } from './interpreters.ts';
import { runLauncher } from './launchers.ts';
import { outputOf } from './outputs.ts';
import { assignedBy, unwrap } from './wrappers.ts';

type Texts = readonly string[];

/** Judges one simple command whose words are known as far as they can be. What it prints, as far as that is known. */
export function runFields(fields: Texts, state: State, stdin: Texts): Texts {
  const { judgement } = state;
  judgement.step(1 + fields.length / 50);
  const [name, ...args] = fields;
  if (name === undefined) return [''];
  // An empty first word comes of a list that may be empty: what follows may be the program.
  if (name === '') return runFields(args, state, stdin);
  return judgement.deeper(() => {
    const program = programOf(name);
    if (program === undefined) {
      const rule = isFromNetwork(name) ? 'network/pipe-to-interpreter' : 'shell/unresolved-command';
      if (!name.includes(parameter)) judgement.report(rule, undefined);
      // Security: whichever program it is, its arguments may be another command.
      judgeAsMany(args, state, stdin);
      return [unknown];
    }
    return runProgram(name, program, args, state, stdin);
  });
}

function judgeAsMany(args: Texts, state: State, stdin: Texts): void {
  const dangerous = args[0] !== undefined && !hasPlaceholder(args[0]) && /^[a-z]/.test(args[0]);
  if (dangerous) runFields(args, state.fork(), stdin);
}

/** The name of a program without its directory, or undefined when it is not known. */
function programOf(name: string): string | undefined {
  if (name === '[' || name === '[[') return name;
  const base = name.slice(name.lastIndexOf('/') + 1);
  if (name.includes(unknown) || isFromNetwork(name) || name.includes(parameter)) return undefined;
  if (base.includes(unknownWord) || base.includes(plainToken) || /[*?[]/.test(name) || name.startsWith('!')) return undefined;
  return base === '' ? undefined : base;
}

function runProgram(name: string, program: string, args: Texts, state: State, stdin: Texts): Texts {
  const { judgement } = state;
  if (!name.includes('/')) {
    const defined = runDefined(name, args, state, stdin);
    if (defined) return defined;
  } else if (runDownloaded(name, args, state, stdin)) return [unknown];
  for (const [variable, value] of assignedBy(program, args)) {
    state = state.fork();
    state.variables.set(variable, variable === 'PWD' ? resolvePaths(value, state).map((path) => path ?? unknown) : [value]);
    noteAssignment(variable, state);
  }
  applyRules(program, args, state, stdin);
  const special =
    runBuiltin(program, args, state, stdin) ?? runLauncher(program, args, state, stdin) ?? runInterpreter(program, args, state, stdin);
  if (special) return special;
  const inner = unwrap(program, args);
  if (inner) return inner.length > 0 ? judgement.runFields(inner, state, stdin) : [unknown];
  return outputOf(program, args, state, stdin);
}

/** A function or alias of the script or of the session. */
function runDefined(name: string, args: Texts, state: State, stdin: Texts): Texts | undefined {
  const { judgement } = state;
  const depth = state.callers.filter((caller) => caller === name).length;
  if (depth > 2 || (depth === 2 && !isElsewhere(name, state))) return undefined;
  const alias = state.aliases.get(name);
  if (alias !== undefined) {
    const before = state.callers;
    state.callers = [...before, name, name];
    // What the name means without the alias counts too: a script does not always expand aliases.
    const [next, ...others] = args;
    // An alias that ends in a blank expands the next word too.
    const second = /\s$/.test(alias) && next !== undefined ? state.aliases.get(next) : undefined;
    const words = second === undefined ? args.map(shellQuote) : [second, ...others.map(shellQuote)];
    judgement.runSource([alias, ...words].join(' '), state, stdin);
    state.callers = before;
    return undefined;
  }
  const body = state.functions.get(name);
  if (body)
    return callFunction(name, args, state, () =>
      judgement.runScript({ type: 'Script', pos: 0, end: 0, shebang: undefined, commands: statementsOf(body.body) }, state, stdin),
    );
  const source = Object.hasOwn(state.circumstances.definitions, name) ? state.circumstances.definitions[name] : undefined;
  if (source === undefined) return undefined;
  return runDefinition(name, source, args, state, stdin);
}

/** Security: a function that calls itself from one directory after the other may get to any. */
function isElsewhere(name: string, state: State): boolean {
  const first = state.calledFrom.get(name);
  if (first === undefined || first.join('\n') === state.workingDirectories.join('\n')) return false;
  state.variables.set('PWD', [unknown]);
  return true;
}

function runDefinition(name: string, source: string, args: Texts, state: State, stdin: Texts): Texts | undefined {
  const { problem, scripts } = parseCommand(source);
  const first = problem ? undefined : scripts[0]?.commands[0]?.command;
  if (first?.type === 'Function' && first.name.value === name) {
    state.functions.set(name, first);
    return runDefined(name, args, state, stdin);
  }
  if (first?.type === 'Command' && first.name?.value === 'alias') {
    state.judgement.runSource(source, state, stdin);
    if (state.aliases.has(name)) return runDefined(name, args, state, stdin);
  }
  state.aliases.set(name, source);
  return runDefined(name, args, state, stdin);
}

function callFunction(name: string, args: Texts, state: State, run: () => Texts): Texts {
  const { parameters, callers, calledFrom } = state;
  if (!calledFrom.has(name)) state.calledFrom = new Map([...calledFrom, [name, state.workingDirectories]]);
  state.parameters = args;
  state.callers = [...callers, name];
  const output = run();
  state.parameters = parameters;
  state.callers = callers;
  state.calledFrom = calledFrom;
  state.ended = false;
  return output;
}

function statementsOf(body: import('unbash').Function['body']): readonly import('unbash').Statement[] {
  if (body.type === 'CompoundList') return body.commands;
  return [{ type: 'Statement', pos: body.pos, end: body.end, command: body, background: undefined }];
}
