/**
 * What a session carries from one command to the next, as data: one entry per exported variable, function, alias, shell option,
 * the umask and the directory. An entry's value is the bash source that restores it, as bash itself printed it.
 *
 * The host compares and merges entries and never interprets their text. Only the sandbox they came from ever evaluates it.
 */
export type State = ReadonlyMap<string, string>;

/** An entry that changed, with its new text, or undefined when it went away. */
export type Changes = ReadonlyMap<string, string | undefined>;

export const directoryKey = 'directory';

/** Bash maintains these itself. */
const own = new Set(['_', 'PWD', 'SHLVL', 'BASHOPTS', 'SHELLOPTS']);
const reserved = /^(?:__hermetic_|__HERMETIC_)/;

export interface Dump {
  exports: string;
  functionNames: string;
  functions: string;
  aliases: string;
  options: string;
  umask: string;
  directory: string;
}

export function parseDump(dump: Dump): State {
  const state = new Map<string, string>();
  for (const { name, text } of declarations(dump.exports)) {
    if (!own.has(name) && !reserved.test(name)) state.set(`variable ${name}`, text);
  }
  for (const { name, text } of functionDefinitions(dump.functionNames, dump.functions)) state.set(`function ${name}`, text);
  for (const { name, text } of aliasDefinitions(dump.aliases)) state.set(`alias ${name}`, text);
  for (const line of lines(dump.options)) state.set(`option ${line.split(' ')[2]}`, line);
  state.set('umask', dump.umask.trim());
  state.set(directoryKey, dump.directory.replace(/\n$/, ''));
  return state;
}

export function changesBetween(before: State, after: State): Changes {
  const changes = new Map<string, string | undefined>();
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
  const part: Record<'variable' | 'function' | 'alias' | 'option' | 'umask', string[]> = { variable: [], function: [], alias: [], option: [], umask: [] };
  for (const [key, text] of changes) {
    const [kind, name] = splitKey(key);
    if (kind === 'umask') part.umask.push(text ?? '');
    else if (kind === 'variable') part.variable.push(text ?? `unset -v ${name}`);
    else if (kind === 'function') part.function.push(text ?? `unset -f ${name}`);
    else if (kind === 'alias') part.alias.push(text ?? `unalias ${name}`);
    else if (kind === 'option' && name !== 'expand_aliases') part.option.push(text ?? '');
  }
  const all = [...part.variable, ...part.function, ...part.umask, ...part.option, ...part.alias];
  if (all.length === 0 && !changes.has('option expand_aliases')) return '';
  // Aliases must not be expanded in the function bodies that are read here: bash expanded them when they were first read.
  return ['shopt -u expand_aliases', ...all, after.get('option expand_aliases') ?? 'shopt -s expand_aliases', ''].join('\n');
}

function splitKey(key: string): [kind: string, name: string] {
  const space = key.indexOf(' ');
  return space === -1 ? [key, ''] : [key.slice(0, space), key.slice(space + 1)];
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
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
 * Splits the output of `declare -f`. A body may contain any line, also `}` in a here-document, so the names `declare -F` lists,
 * in the same order, say where the next one starts.
 */
function* functionDefinitions(names: string, text: string): Generator<{ name: string; text: string }> {
  const heads = lines(names).map((line) => {
    const [, flags = '', name = ''] = /^declare (-\S+) (.*)$/.exec(line) ?? [];
    return { name, exported: flags.includes('x') };
  });
  let at = 0;
  for (const [index, { name, exported }] of heads.entries()) {
    const next = heads[index + 1];
    const end = next ? startOfFunction(text, next.name, at + 1) : text.length;
    const body = text.slice(at, end).replace(/\n$/, '');
    at = end;
    if (reserved.test(name) || name === 'trap') continue;
    yield { name, text: exported ? `${body}\nexport -f ${name}` : body };
  }
}

function startOfFunction(text: string, name: string, from: number): number {
  const plain = text.indexOf(`\n${name} () \n{ \n`, from - 1);
  const worded = text.indexOf(`\nfunction ${name} () \n{ \n`, from - 1);
  const found = plain === -1 ? worded : worded === -1 ? plain : Math.min(plain, worded);
  return found === -1 ? text.length : found + 1;
}
