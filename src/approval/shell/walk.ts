import type {
  AndOr,
  Case,
  Command,
  CommandNode,
  CompoundList,
  Function as FunctionNode,
  If,
  ParsedScript,
  Pipeline,
  Redirection,
  Statement,
  SyntaxNode,
  Word,
} from 'unbash';
import { forEachChild } from 'unbash';
import { assign, assignLasting, assignmentField, noteAssignment, noteLasting } from './assignments.ts';
import { expandText, expandWord, visitNested } from './expand.ts';
import { parseCommand } from './parse-command.ts';
import { openRedirections, storeOutput } from './redirections.ts';
import { type State, unionByName } from './state.ts';
import { combinations, isWhollyUnknown, joined, parameter, plainToken, unknown } from './values.ts';

type Texts = readonly string[];
const nothing: Texts = [''];

/** Judges bash source in a state; what it prints, as far as that is known. */
export function runSource(source: string, state: State, stdin: Texts): Texts {
  // Whoever runs code that is wholly unknown has reported that.
  if (source !== '' && isWhollyUnknown(source)) return [unknown];
  const { problem, scripts } = parseCommand(source);
  if (problem) state.judgement.report(problem);
  let output: Texts = problem ? [unknown] : nothing;
  for (const script of scripts) output = joined(output, runScript(script, state, stdin));
  return output;
}

export function runScript(script: ParsedScript, state: State, stdin: Texts): Texts {
  if (script.errors && script.errors.length > 0) state.judgement.report('shell/unparseable');
  return state.judgement.deeper(() => runStatements(script.commands, state, stdin));
}

function runStatements(statements: readonly Statement[], state: State, stdin: Texts): Texts {
  let output = nothing;
  for (const { command, background } of statements) {
    state.settle();
    output = joined(output, runNode(command, background ? state.fork() : state, stdin));
  }
  return output;
}

function runList(list: CompoundList, state: State, stdin: Texts): Texts {
  return runStatements(list.commands, state, stdin);
}

function runNode(node: CommandNode | Pipeline | AndOr | CompoundList, state: State, stdin: Texts): Texts {
  state.judgement.step();
  switch (node.type) {
    case 'Command':
      return runCommand(node, state, stdin);
    case 'Pipeline':
      return runPipeline(node, state, stdin);
    case 'AndOr':
      return runAndOr(node, state, stdin);
    case 'CompoundList':
      return runList(node, state, stdin);
    case 'Subshell':
      return runList(node.body, state.fork(), stdin);
    case 'BraceGroup':
      return runList(node.body, state, stdin);
    case 'Redirected': {
      const open = openRedirections(node.redirects, state, undefined);
      const output = runNode(node.command, state, open.stdin ?? stdin);
      return storeOutput(open, output, state);
    }
    case 'If':
      return runIf(node, state, stdin);
    case 'Case':
      return runCase(node, state, stdin);
    case 'While':
      return runLoop(state, (way) => joined(runList(node.clause, way, stdin), runList(node.body, way, stdin)));
    case 'For':
    case 'Select': {
      const values = node.wordlist ? loopValues(node.wordlist, state) : (state.parameters ?? [unknown]);
      noteLasting(node.name.value, state);
      return runLoop(state, (way) => {
        way.variables.set(node.name.value, values.length > 0 ? values : nothing);
        return runList(node.body, way, stdin);
      });
    }
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) if (part) visitNested(part, state);
      return runLoop(state, (way) => runList(node.body, way, stdin));
    case 'Function':
      return define(node, state);
    case 'Coproc':
      return runNode(node.body, state.fork(), [unknown]);
    default:
      quietly(state, () => forEachChild(node, (child) => visitNested(child, state)));
      return nothing;
  }
}

/** Looking at whether a secret is set shows nothing of it. */
function quietly(state: State, action: () => void): void {
  const before = state.judgement.found.has('credentials/variable\n');
  action();
  if (!before) state.judgement.found.delete('credentials/variable\n');
}

function runPipeline(node: Pipeline, state: State, stdin: Texts): Texts {
  const [only] = node.commands;
  if (node.commands.length === 1 && only) return runNode(only, state, stdin);
  return node.commands.reduce((input, command) => runNode(command, state.fork(), input), stdin);
}

function runAndOr(node: AndOr, state: State, stdin: Texts): Texts {
  const [first, ...rest] = node.commands;
  if (!first) return nothing;
  let output = runNode(first, state, stdin);
  const ways: State[] = [];
  let ifFailed = state.ifFailed;
  for (const [index, command] of rest.entries()) {
    ifFailed = unionByName([ifFailed, state.ifFailed]);
    if (node.operators[index] === '&&') {
      ways.push(state.fork());
      state.ifFailed = new Map();
      output = joined(output, runNode(command, state, stdin));
    } else {
      const way = state.fork();
      way.ifFailed = ifFailed;
      way.settle();
      output = joined(output, runNode(command, way, stdin));
      state.become([state.fork(), way]);
    }
  }
  const last = state.fork();
  last.ended = state.ended;
  state.become([...ways, last]);
  return output;
}

function runIf(node: If, state: State, stdin: Texts): Texts {
  let output = runList(node.clause, state, stdin);
  const ways: State[] = [];
  const branch = (list: CompoundList): void => {
    const way = state.fork();
    output = joined(output, runList(list, way, stdin));
    ways.push(way);
  };
  branch(node.then);
  for (const other of node.elif) {
    output = joined(output, runList(other.clause, state, stdin));
    branch(other.then);
  }
  if (node.else) branch(node.else);
  else ways.push(state.fork());
  state.become(ways);
  return output;
}

function runCase(node: Case, state: State, stdin: Texts): Texts {
  quietly(state, () => expandText(node.word, state));
  const ways = [state.fork()];
  let output = nothing;
  for (const item of node.items) {
    for (const pattern of item.pattern) expandText(pattern, state);
    const way = state.fork();
    output = joined(output, runList(item.body, way, stdin));
    ways.push(way);
  }
  state.become(ways);
  return output;
}

/**
 * Twice, so that what the end of a round sets is seen by the start of the next. Security: what then still grows, such as the way up from
 * a directory, may become anything, and is that in a third round.
 */
function runLoop(state: State, round: (way: State) => Texts): Texts {
  let output = nothing;
  for (let count = 0, grew = true; count < 2 || (count === 2 && grew); count++) {
    const before = state.variables;
    const way = state.fork();
    output = joined(output, round(way));
    way.ended = false;
    state.become([state.fork(), way]);
    if (count === 1) grew = widen(state, before);
  }
  return output;
}

/** Adds that it may be anything to every variable that got other values than it had. */
function widen(state: State, before: ReadonlyMap<string, Texts>): boolean {
  const grown = [...state.variables].filter(([name, values]) => values.some((value) => !before.get(name)?.includes(value)));
  for (const [name, values] of grown) state.variables.set(name, [...values, unknown]);
  return grown.length > 0;
}

function loopValues(words: readonly Word[], state: State): Texts {
  const values = [...new Set(words.flatMap((word) => expandWord(word, state).flat()))];
  if (values.length <= 48) return values;
  return values.every((value) => /^[\w.][\w.:-]*$/.test(value)) ? [plainToken] : [unknown];
}

function define(node: FunctionNode, state: State): Texts {
  const name = node.name.value;
  state.functions.set(name, node);
  if (startsItself(node, name)) state.judgement.report('system/fork-bomb', name);
  const way = state.fork();
  way.parameters = [parameter];
  way.callers = [...state.callers, name];
  runNode(node.body, way, nothing);
  return nothing;
}

/** Whether a function starts itself beside itself: in the background or in a pipe. */
function startsItself(node: FunctionNode, name: string): boolean {
  let beside = false;
  const calls = (inner: SyntaxNode, apart: boolean): void => {
    if (inner.type === 'Command' && inner.name?.value === name && apart) beside = true;
    const forks =
      apart || (inner.type === 'Statement' && inner.background === true) || (inner.type === 'Pipeline' && inner.commands.length > 1);
    if (!beside) forEachChild(inner, (child) => calls(child, forks || inner.type === 'Coproc'));
  };
  calls(node.body, false);
  return beside;
}

function runCommand(node: Command, state: State, stdin: Texts): Texts {
  const assignments = node.prefix.filter((part) => part.type === 'Assignment');
  const redirects: readonly Redirection[] = node.redirects;
  const words = [...(node.name ? [node.name] : []), ...node.args];
  const quiet = ['[', 'test', ':', 'export', 'unset'].includes(node.name?.value ?? '');
  let choices: string[][][] = [];
  const expandAll = (): void => {
    choices = words.map((word) => (word.type === 'Word' ? expandWord(word, state) : assignmentField(word, state, node.name?.value ?? '')));
  };
  if (quiet) quietly(state, expandAll);
  else expandAll();
  if (words.length === 0) {
    for (const assignment of assignments) assignLasting(assignment, state);
    const open = openRedirections(redirects, state, undefined);
    return storeOutput(open, nothing, state);
  }
  const before = new Map(assignments.map(({ name }) => [name, state.variables.get(name)]));
  for (const assignment of assignments) {
    assign(assignment, state);
    noteAssignment(assignment.name, state);
  }
  const open = openRedirections(redirects, state, node.name?.value);
  const output = runChoices(choices, state, open.stdin ?? stdin);
  for (const [name, value] of before) {
    if (value) state.variables.set(name, value);
    else state.variables.delete(name);
  }
  return storeOutput(open, output, state);
}

function runChoices(choices: readonly string[][][], state: State, stdin: Texts): Texts {
  const commands = combinations(choices) ?? combinations(choices.map((options, index) => (index === 0 ? options : plainer(options))));
  if (!commands) {
    state.judgement.report('shell/too-complex');
    return [unknown];
  }
  const [only] = commands;
  if (commands.length === 1 && only) return state.judgement.runFields(only.flat(), state, stdin);
  const ways: State[] = [];
  const output = new Set<string>();
  for (const command of commands) {
    const way = state.fork();
    for (const text of state.judgement.runFields(command.flat(), way, stdin)) output.add(text);
    ways.push(way);
  }
  state.become(ways);
  return output.size > 8 ? [unknown] : [...output];
}

/** Many words that are all just names say no more than one of them. */
function plainer(options: string[][]): string[][] {
  return options.length > 1 && options.every((fields) => fields.length === 1 && /^[\w.][\w.:-]*$/.test(fields[0] ?? ''))
    ? [[plainToken]]
    : options;
}
