import { shellQuote } from '../lib/shell-quote.ts';

/**
 * The state that a session carries from one command to the next, as data: one entry per exported variable, function, alias, shell option,
 * the umask and the directory. An entry's value is the bash source that restores it, as bash itself printed it.
 *
 * The host compares and merges entries and never interprets their text. Only the sandbox they came from ever evaluates it.
 */
export type State = ReadonlyMap<string, string>;

/** An entry that changed, with its new text, or undefined when it went away. */
export type Changes = ReadonlyMap<string, string | undefined>;

export const directoryKey = 'directory';

/** Bash maintains these itself. */
const own = new Set(['_', 'PWD', 'SHLVL', 'BASHOPTS', 'SHELLOPTS', 'POSIXLY_CORRECT']);
/** Bash does not let these be changed. */
const fixedOptions = new Set(['login_shell', 'restricted_shell']);
const reserved = /^(?:__hermetic_|__HERMETIC_)/;
const ownFunction = /^(?:__hermetic_.*|trap)$/;

export interface Dump {
  exports: string;
  functionNames: string;
  functions: string;
  aliases: string;
  /** Those that are on, separated by colons. */
  options: string;
  umask: string;
  directory: string;
}

/** Security: a sandbox decides what it reports. No session has more, and what does not fit these is no session's. */
const maxEntries = 10_000;
const umaskText = /^umask [0-7]{1,4}$/;
/** The kernel goes to no place with a longer name. */
const longestPath = 4096;

/** undefined when it is no state of a session. */
export function parseDump(dump: Dump): State | undefined {
  const state = new Map<string, string>();
  let count = 0;
  for (const [key, text] of entriesOf(dump)) {
    if (++count > maxEntries) return undefined;
    state.set(key, text);
  }
  return state;
}

/** Longer dumps are not kept for comparing. */
const maxKeptCharacters = 256 * 1024;

/** Parses dumps of one session. Most commands change nothing, and comparing a dump with the one before is faster than parsing it again. */
export function dumpParser(): (dump: Dump) => State | undefined {
  let last: { dump: Dump; state: State | undefined } | undefined;
  return (dump) => {
    if (last && isSameDump(last.dump, dump)) return last.state;
    const state = parseDump(dump);
    const length = Object.values(dump).reduce((sum, field: string) => sum + field.length, 0);
    last = length <= maxKeptCharacters ? { dump, state } : undefined;
    return state;
  };
}

function isSameDump(one: Dump, other: Dump): boolean {
  return (Object.keys(one) as (keyof Dump)[]).every((field) => one[field] === other[field]);
}

function* entriesOf(dump: Dump): Generator<[key: string, text: string]> {
  for (const { name, text } of declarations(dump.exports)) {
    if (!own.has(name) && !reserved.test(name)) yield [`variable ${name}`, text];
  }
  for (const { name, text } of functionDefinitions(dump.functionNames, dump.functions)) yield [`function ${name}`, text];
  for (const { name, text } of aliasDefinitions(dump.aliases)) yield [`alias ${name}`, text];
  for (const [name] of dump.options.matchAll(/[a-z0-9_]+/g)) if (!fixedOptions.has(name)) yield [`option ${name}`, `shopt -s ${name}`];
  const umask = dump.umask.trim();
  if (umaskText.test(umask)) yield ['umask', umask];
  const directory = dump.directory.replace(/\n$/, '');
  if (directory.startsWith('/') && directory.length <= longestPath) yield [directoryKey, directory];
}

/** Functions and aliases by name; where both have one, the alias, as bash does. As `$NAME` the exported variables that `base` has otherwise or not. */
export function definitionsIn(state: State, base: State): Record<string, string> {
  const definitions: Record<string, string> = Object.create(null);
  for (const kind of ['function ', 'alias ']) {
    for (const [key, text] of state) if (key.startsWith(kind)) definitions[utf8(key.slice(kind.length))] = utf8(text);
  }
  for (const [key, text] of state)
    if (key.startsWith('variable ') && base.get(key) !== text) definitions[`$${utf8(key.slice(9))}`] = utf8(text);
  return definitions;
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString();
}

export function changesBetween(before: State, after: State): Changes {
  const changes = new Map<string, string | undefined>();
  if (before === after) return changes;
  for (const [key, text] of after) if (before.get(key) !== text) changes.set(key, text);
  for (const key of before.keys()) if (!after.has(key)) changes.set(key, undefined);
  return changes;
}

export function withChanges(state: State, changes: Changes): State {
  const result = new Map(state);
  for (const [key, text] of changes) {
    if (text === undefined) result.delete(key);
    else result.set(key, text);
  }
  return result;
}

/**
 * The bash source that makes `changes` in a shell. The directory is not part of it: a shell goes there when the command comes,
 * because it may be gone by then.
 */
export function restoreScript(changes: Changes, after: State): string {
  const part: Record<'variable' | 'function' | 'alias' | 'option' | 'umask', string[]> = {
    variable: [],
    function: [],
    alias: [],
    option: [],
    umask: [],
  };
  const removals: string[] = [];
  for (const [key, text] of changes) {
    const [kind, name] = splitKey(key);
    if (text === undefined) removals.push(...removal(kind, name));
    else if (kind === 'variable' || kind === 'umask' || kind === 'alias') part[kind].push(builtin(text));
    else if (kind === 'function') part.function.push(text);
    else if (kind === 'option' && name !== 'expand_aliases') part.option.push(builtin(text));
  }
  const all = [...removals, ...part.variable, ...part.function, ...part.umask, ...part.option, ...part.alias];
  if (all.length === 0 && !changes.has('option expand_aliases')) return '';
  // Aliases must not be expanded in the function bodies that are read here: bash expanded them when they were first read.
  return ['\\builtin shopt -u expand_aliases', ...all, builtin(after.get('option expand_aliases') ?? 'shopt -u expand_aliases'), ''].join(
    '\n',
  );
}

/** A function of the session may have the name of the command. The value of an array only `declare` itself can be given. */
function builtin(command: string): string {
  return /^declare -\S+ \w+=\(/.test(command) ? command : `builtin ${command}`;
}

function removal(kind: string, name: string): string[] {
  if (kind === 'variable') return [`builtin unset -v ${name}`];
  if (kind === 'option' && name !== 'expand_aliases') return [`builtin shopt -u ${name}`];
  if (kind === 'function') return [`builtin unset -f -- ${name.split('\n').map(shellQuote).join(' ')}`];
  if (kind === 'alias') return [`builtin unalias -- ${shellQuote(name)}`];
  return [];
}

function splitKey(key: string): [kind: string, name: string] {
  const space = key.indexOf(' ');
  return space === -1 ? [key, ''] : [key.slice(0, space), key.slice(space + 1)];
}

/** Splits the output of `export -p`, whose quoted values may span lines. */
function* declarations(text: string): Generator<{ name: string; text: string }> {
  const head = /declare -(\S+) ([A-Za-z_][A-Za-z0-9_]*)/y;
  let at = 0;
  while (at < text.length) {
    head.lastIndex = at;
    const match = head.exec(text);
    if (!match) return;
    let end = head.lastIndex;
    if (text[end] === '=') end = endOfWord(text, end + 1);
    yield { name: match[2] ?? '', text: text.slice(at, end) };
    at = end + 1;
  }
}

/** Splits the output of `alias -p`. */
function* aliasDefinitions(text: string): Generator<{ name: string; text: string }> {
  let at = 0;
  while (at < text.length) {
    const equals = text.indexOf('=', at);
    if (equals === -1) return;
    const end = endOfWord(text, equals + 1);
    const name = text.slice(at, equals).replace(/^alias (?:-- )?/, '');
    yield { name, text: text.slice(at, end) };
    at = end + 1;
  }
}

/** Where the bash word that starts at `at` ends: the first newline outside quotes. */
function endOfWord(text: string, at: number): number {
  let position = at;
  while (position < text.length && text[position] !== '\n') {
    const character = text[position];
    if (character === '\\') position += 2;
    else if (character === '"') position = closing(text, position + 1, '"', true);
    else if (character === "'") position = closing(text, position + 1, "'", text[position - 1] === '$');
    else position += 1;
  }
  return Math.min(position, text.length);
}

function closing(text: string, at: number, quote: string, escapes: boolean): number {
  let position = at;
  while (position < text.length && text[position] !== quote) position += escapes && text[position] === '\\' ? 2 : 1;
  return position + 1;
}

/**
 * Splits the output of `declare -f` where the names that `declare -F` lists, in the same order, start. A body may contain any line,
 * so a here-document can look like the start of another function: those two then stay together, under both names.
 */
function* functionDefinitions(names: string, text: string): Generator<{ name: string; text: string }> {
  const heads = functionHeads(text);
  let group: { names: string[]; exported: string[]; start: number } | undefined;
  const taken = (end: number) => {
    if (!group || group.names.length === 0) return [];
    const exports = group.exported.map((name) => `\nbuiltin export -f -- ${shellQuote(name)}`).join('');
    return [{ name: group.names.join('\n'), text: text.slice(group.start, end).replace(/\n$/, '') + exports }];
  };
  for (const [, flags = '', name = ''] of atMost(maxEntries, names.matchAll(/^declare (-\S+) (.*)$/gm))) {
    const start = heads.get(name);
    if (!group || start !== undefined) {
      yield* taken(start ?? 0);
      group = { names: [], exported: [], start: start ?? 0 };
    }
    if (ownFunction.test(name)) continue;
    group.names.push(name);
    if (flags.includes('x')) group.exported.push(name);
  }
  yield* taken(text.length);
}

/** Where each function starts, unless several lines could be its start. */
function functionHeads(text: string): Map<string, number | undefined> {
  const heads = new Map<string, number | undefined>();
  for (const { index, 1: name = '' } of atMost(maxEntries, text.matchAll(/^(?:function )?(.+) \(\) $/gm))) {
    heads.set(name, heads.has(name) ? undefined : index);
  }
  return heads;
}

function* atMost<T>(count: number, items: Iterable<T>): Generator<T> {
  let taken = 0;
  for (const item of items) {
    if (++taken > count) return;
    yield item;
  }
}
