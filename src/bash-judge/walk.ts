import type { AndOr, Case, Command, CommandNode, CompoundList, If, ParsedScript, Pipeline, Statement, Word } from 'unbash';
import { forEachChild } from 'unbash';
import { assign, assignLasting, assignmentField, declaring } from './assign.ts';
import { defineFunction } from './functions.ts';
import { originIn, unknownFrom } from './made-files.ts';
import { parseCommand } from './parse.ts';
import { openRedirections, printedInto } from './redirections.ts';
import { runFields } from './run.ts';
import { type Shell, unionByName, unionOf } from './shell.ts';
import { below, combinations, hasPlaceholder, isUnknown, plainToken, unknown, unseenRule } from './values.ts';
import { judgeVariable } from './variables.ts';
import { expandText, expandWord, visitNested } from './words.ts';

/** The texts that may be printed or read; none when there is nothing. */
type Texts = readonly string[];
const nothing: Texts = [];

/** Judges bash source in a shell; what it prints, as far as that is known. */
export function runSource(source: string, shell: Shell, stdin: Texts): Texts {
  // Security: the name of a file may be code.
  if (isUnknown(source) || source.includes(below)) {
    shell.judgement.report(unseenRule(source));
    return [unknown];
  }
  const parsed = parseCommand(hasPlaceholder(source) ? source.replace(/[\uE002\uE005]/g, 'x') : source);
  if ('script' in parsed) return runScript(parsed.script, shell, stdin);
  shell.judgement.report(parsed.problem);
  if (parsed.before) runStatements(parsed.before.commands, shell, stdin);
  return [unknown];
}

export function runScript(script: ParsedScript, shell: Shell, stdin: Texts): Texts {
  if (script.errors && script.errors.length > 0) shell.judgement.report('shell/unparseable');
  return shell.judgement.deeper(() => runStatements(script.commands, shell, stdin));
}

function runStatements(statements: readonly Statement[], shell: Shell, stdin: Texts): Texts {
  let output = nothing;
  for (const { command, background } of statements) {
    shell.settle();
    if (background && shell.repeats) shell.judgement.report('process/many');
    // Commands after `return` or `exit` are judged, and change nothing.
    const isApart = background === true || shell.ended;
    if (isApart) shell.judgement.files.doubt();
    const way = isApart ? shell.fork() : shell;
    output = joined(output, runNode(command, way, shell.hasOtherInput ? [unknown] : stdin));
  }
  return output;
}

/** One after the other: of two texts nothing is known but that they are there. */
function joined(first: Texts, second: Texts): Texts {
  if (first.length === 0 || second.length === 0) return first.length === 0 ? second : first;
  const both = [...first, ...second];
  if (both.every((text) => text.endsWith(below))) return unionOf([first, second]);
  return [unknownFrom(originIn(both))];
}

function runList(list: CompoundList, shell: Shell, stdin: Texts): Texts {
  return runStatements(list.commands, shell, stdin);
}

export function runNode(node: CommandNode | Pipeline | AndOr | CompoundList, shell: Shell, stdin: Texts): Texts {
  shell.judgement.step();
  switch (node.type) {
    case 'Command':
      return runCommand(node, shell, stdin);
    case 'Pipeline':
      return runPipeline(node, shell, stdin);
    case 'AndOr':
      return runAndOr(node, shell, stdin);
    case 'CompoundList':
      return runList(node, shell, stdin);
    case 'Subshell':
      return runList(node.body, shell.fork(), stdin);
    case 'BraceGroup':
      return runList(node.body, shell, stdin);
    case 'Redirected': {
      const streams = openRedirections(node.redirects, shell, undefined);
      const output = runNode(node.command, shell, streams.stdin ?? stdin);
      return printedInto(streams, output, shell);
    }
    case 'If':
      return runIf(node, shell, stdin);
    case 'Case':
      return runCase(node, shell, stdin);
    case 'While':
      return runLoop(shell, true, (way) => joined(runList(node.clause, way, stdin), runList(node.body, way, stdin)));
    case 'For':
    case 'Select': {
      const values = node.wordlist ? loopValues(node.wordlist, shell) : (shell.parameters ?? [unknown]);
      const name = node.name.value;
      shell.judgement.lookThrough(values);
      if (node.type === 'Select') shell.set('REPLY', [unknown]);
      judgeVariable(name, values, shell, shell.exported.has(name));
      return runLoop(shell, values.some(hasPlaceholder) || values.length > 32, (way) => {
        way.set(name, values.length > 0 ? values : ['']);
        return runList(node.body, way, stdin);
      });
    }
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) if (part) visitNested(part, shell);
      return runLoop(shell, true, (way) => runList(node.body, way, stdin));
    case 'Function':
      defineFunction(node, shell);
      return nothing;
    case 'Coproc':
      runNode(node.body, shell.fork(), [unknown]);
      return nothing;
    default:
      withoutSecrets(shell, () => forEachChild(node, (child) => visitNested(child, shell)));
      return nothing;
  }
}

/** Looking at whether a secret is set shows nothing of it. */
function withoutSecrets(shell: Shell, action: () => void): void {
  const { found } = shell.judgement;
  const before = new Set(found.keys());
  action();
  for (const [key, { rule }] of found) if (rule === 'credentials/variable' && !before.has(key)) found.delete(key);
}

function runPipeline(node: Pipeline, shell: Shell, stdin: Texts): Texts {
  const [only] = node.commands;
  if (node.commands.length === 1 && only) {
    const output = runNode(only, shell, stdin);
    // Where it is asked whether it failed, a `cd` may have.
    if (node.prefixes.some(({ type }) => type === 'Negation')) shell.settle();
    return output;
  }
  return node.commands.reduce((input, command) => runNode(command, shell.fork(), input), stdin);
}

function runAndOr(node: AndOr, shell: Shell, stdin: Texts): Texts {
  const [first, ...rest] = node.commands;
  if (!first) return nothing;
  let output = runNode(first, shell, stdin);
  const ways: Shell[] = [];
  let ifFailed = shell.ifFailed;
  shell.judgement.files.doubt();
  for (const [index, command] of rest.entries()) {
    ifFailed = unionByName([ifFailed, shell.ifFailed]);
    if (node.operators[index] === '&&') {
      ways.push(shell.fork());
      shell.ifFailed = new Map();
      output = joined(output, runNode(command, shell, stdin));
    } else {
      const way = shell.fork();
      way.ifFailed = ifFailed;
      way.settle();
      output = joined(output, runNode(command, way, stdin));
      shell.become([shell.fork(), way]);
    }
  }
  const last = shell.fork();
  last.ended = shell.ended;
  shell.become([...ways, last]);
  return output;
}

function runIf(node: If, shell: Shell, stdin: Texts): Texts {
  let output = runList(node.clause, shell, stdin);
  const ways: Shell[] = [];
  shell.judgement.files.doubt();
  const branch = (list: CompoundList): void => {
    const way = shell.fork();
    output = unionOf([output, runList(list, way, stdin)]);
    ways.push(way);
  };
  branch(node.then);
  for (const other of node.elif) {
    output = unionOf([output, runList(other.clause, shell, stdin)]);
    branch(other.then);
  }
  if (node.else) branch(node.else);
  else ways.push(shell.fork());
  shell.become(ways);
  shell.settle();
  return output;
}

function runCase(node: Case, shell: Shell, stdin: Texts): Texts {
  withoutSecrets(shell, () => expandText(node.word, shell));
  const ways = [shell.fork()];
  let output = nothing;
  shell.judgement.files.doubt();
  if (node.items.some(({ terminator }) => terminator === ';&' || terminator === ';;&')) shell.judgement.report('shell/too-complex');
  for (const item of node.items) {
    for (const pattern of item.pattern) expandText(pattern, shell);
    const way = shell.fork();
    output = unionOf([output, runList(item.body, way, stdin)]);
    ways.push(way);
  }
  shell.become(ways);
  shell.settle();
  return output;
}

/**
 * Twice, so that what the end of a round sets is seen by the start of the next. Security: what then still grows, such as the way up from
 * a directory, may become anything, and is that in a third round.
 */
function runLoop(shell: Shell, repeats: boolean, round: (way: Shell) => Texts): Texts {
  let output = nothing;
  shell.judgement.files.doubt();
  for (let count = 0, grew = true; count < 2 || (count === 2 && grew); count++) {
    const before = shell.variables;
    const way = shell.fork();
    way.repeats ||= repeats;
    const exits: Shell[] = [];
    way.exits = exits;
    output = joined(output, round(way));
    way.ended = false;
    shell.become([shell.fork(), way, ...exits]);
    if (count === 1) grew = widen(shell, before);
  }
  shell.settle();
  return output;
}

/** Adds that it may be anything to every variable that got other values than it had. */
function widen(shell: Shell, before: ReadonlyMap<string, Texts>): boolean {
  const grown = [...shell.variables].filter(([name, values]) => values.some((value) => !before.get(name)?.includes(value)));
  for (const [name, values] of grown) shell.variables.set(name, [...values, unknown]);
  // Which element an array has in a later round is not followed.
  for (const [name, elements] of shell.arrays) shell.arrays.set(name, [...elements, unknown]);
  return grown.length > 0 || shell.arrays.size > 0;
}

const plainName = /^\w[\w.:-]*$/;

function loopValues(words: readonly Word[], shell: Shell): Texts {
  const values = [...new Set(words.flatMap((word) => expandWord(word, shell).flat()))];
  if (values.length <= 48) return values;
  return values.every((value) => plainName.test(value) && !value.includes('..')) ? [plainToken] : [unknown];
}

/** They only look at the words they are given. */
const looking = new Set(['[', 'test', ':', 'export', 'unset']);

function runCommand(node: Command, shell: Shell, stdin: Texts): Texts {
  const assignments = node.prefix.filter((part) => part.type === 'Assignment');
  const words = [...(node.name ? [node.name] : []), ...node.args];
  const program = node.name?.value ?? '';
  let choices: string[][][] = [];
  // All words are expanded before a variable is set.
  const scope = words.filter(({ type }) => type === 'Assignment').length > 1 ? shell.fork() : shell;
  const expandAll = (): void => {
    choices = words.map((word) => (word.type === 'Word' ? expandWord(word, shell) : assignmentField(word, shell, program, scope)));
  };
  if (looking.has(program)) withoutSecrets(shell, expandAll);
  else expandAll();
  // Security: to set a variable that is read-only ends the command.
  if (assignments.length > 0) shell.judgement.files.doubt();
  if (words.length === 0) {
    for (const assignment of assignments) assignLasting(assignment, shell);
    // `$(<file)` is what is in the file.
    return openRedirections(node.redirects, shell, undefined).stdin ?? nothing;
  }
  const streams = openRedirections(node.redirects, shell, program);
  if (program === 'exec' && words.length === 1 && streams.stdin) shell.hasOtherInput = true;
  const before = new Map(assignments.map(({ name }) => [name, shell.variables.get(name)]));
  const exported = new Set(shell.exported);
  for (const assignment of assignments) {
    shell.exported.add(assignment.name);
    assign(assignment, shell);
    const isOfBuiltin = program === 'read' || program === 'mapfile' || program === 'readarray';
    judgeVariable(assignment.name, shell.variables.get(assignment.name) ?? [unknown], shell, !isOfBuiltin);
  }
  // Without a word that is a command, and before a builtin that declares, the variables stay set.
  const mayStay = declaring.has(program) || choices.every((options) => options.some(({ length }) => length === 0));
  const output = runChoices(choices, shell, streams.stdin ?? stdin);
  for (const name of before.keys()) if (!exported.has(name) && !declaring.has(program)) shell.exported.delete(name);
  for (const [name, value] of before) {
    if (mayStay) shell.variables.set(name, unionOf([value ?? [unknown], shell.variables.get(name) ?? [unknown]]));
    else if (value) shell.variables.set(name, value);
    else shell.variables.delete(name);
  }
  return printedInto(streams, output, shell);
}

function runChoices(choices: readonly string[][][], shell: Shell, stdin: Texts): Texts {
  const commands = combinations(choices) ?? combinations(choices.map((options, index) => (index === 0 ? options : plainer(options))));
  if (!commands) {
    shell.judgement.report('shell/too-complex');
    return [unknown];
  }
  const [only] = commands;
  if (commands.length === 1 && only) return runFields(only.flat(), shell, stdin);
  const ways: Shell[] = [];
  let output = nothing;
  for (const command of commands) {
    const way = shell.fork();
    output = unionOf([output, runFields(command.flat(), way, stdin)]);
    ways.push(way);
  }
  shell.become(ways);
  return output;
}

/** Many words that are all just names say no more than one of them. */
function plainer(options: string[][]): string[][] {
  const all =
    options.length > 1 && options.every(([field = '', ...more]) => more.length === 0 && plainName.test(field) && !field.includes('..'));
  return all ? [[plainToken]] : options;
}
