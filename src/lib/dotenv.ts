import { isDeepStrictEqual } from 'node:util';

interface DotenvEntry {
  name: string;
  value: string;
  /** Counted from 1; where a value of several lines starts. */
  line: number;
  /** Where it ends. */
  lastLine: number;
}

/** Says what is wrong without repeating the line, which may hold a secret. */
interface DotenvMistake {
  line: number;
  reason: string;
}

export interface Dotenv {
  /** In file order; of two entries with one name the later counts. */
  entries: DotenvEntry[];
  mistakes: DotenvMistake[];
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*/;
const afterQuote = /^[ \t]*(#.*)?$/;
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

/**
 * Reads `NAME=value` lines: `export` in front, `#` comments, 'literal' and "escaped" values, both of which may span lines.
 * Nothing is interpolated: `$OTHER` stays as it is.
 */
export function parseDotenv(text: string): Dotenv {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const result: Dotenv = { entries: [], mistakes: [] };
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1;
    const content = lines[index] ?? '';
    if (/^\s*(#|$)/.test(content)) continue;
    const start = assignment.exec(content);
    if (!start?.[1]) {
      result.mistakes.push({ line, reason: 'expected NAME=value' });
      continue;
    }
    const name = start[1];
    const rest = content.slice(start[0].length);
    const quote = rest[0];
    let value = rest.replace(/(^|\s)#.*$/, '').trim();
    if (quote === '"' || quote === "'") {
      const quoted = readQuoted([rest.slice(1), ...lines.slice(index + 1)], quote);
      if (!quoted) {
        // Where the value was meant to end is unknown, so the lines below cannot be judged.
        result.mistakes.push({ line, reason: `the ${quote} of ${name} is never closed` });
        break;
      }
      index += quoted.lines - 1;
      value = quoted.value;
      if (!afterQuote.test(quoted.rest)) {
        result.mistakes.push({ line: index + 1, reason: `unexpected text after the closing ${quote} of ${name}` });
        continue;
      }
    }
    if (value.includes('\0')) result.mistakes.push({ line, reason: `${name} contains a NUL character` });
    else result.entries.push({ name, value, line, lastLine: index + 1 });
  }
  return result;
}

/**
 * The text with one variable set, and no other changed: every entry of that name goes, so that no earlier value stays behind, and the new one takes the
 * place of the last, or the end. A value that cannot be written so that it is read again is refused.
 */
export function setInDotenv(text: string, name: string, value: string): string {
  return rewritten(text, name, value);
}

/** The text without a variable. Everything else stays as it was. */
export function removeFromDotenv(text: string, name: string): string {
  return rewritten(text, name, undefined);
}

function rewritten(text: string, name: string, value: string | undefined): string {
  const entries = parseDotenv(text).entries.filter((entry) => entry.name === name);
  const written = value === undefined ? undefined : `${name}=${quoted(value)}`;
  // Lines and, between them, what separates them.
  const parts = text.split(/(\r\n|\n|\r)/);
  for (const entry of entries.toReversed()) {
    const [start, end] = [(entry.line - 1) * 2, (entry.lastLine - 1) * 2 + 1];
    const isReplaced = written !== undefined && entry === entries.at(-1);
    if (isReplaced) parts.splice(start, end - start, written);
    else parts.splice(start, end - start + 1);
  }
  const changed = parts.join('');
  const isAdded = written !== undefined && entries.length === 0;
  const after = isAdded ? `${changed}${changed === '' || /[\r\n]$/.test(changed) ? '' : '\n'}${written}\n` : changed;
  const { [name]: _before, ...others } = valuesIn(text);
  const wanted = value === undefined ? others : { ...others, [name]: value };
  const isAsWanted = isDeepStrictEqual(valuesIn(after), wanted) && mistakesIn(after) === mistakesIn(text);
  if (!isAsWanted)
    throw new Error(`${name} cannot be ${value === undefined ? 'taken out of' : 'written into'} this file without changing more`);
  return after;
}

function mistakesIn(text: string): number {
  return parseDotenv(text).mistakes.length;
}

function valuesIn(text: string): Record<string, string> {
  return Object.fromEntries(parseDotenv(text).entries.map(({ name, value }) => [name, value]));
}

function quoted(value: string): string {
  if (/^[\w.:/+=@-]+$/.test(value)) return value;
  if (!/['\r\n]/.test(value)) return `'${value}'`;
  return `"${value
    .replace(/[\\"$]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')}"`;
}

function readQuoted(lines: readonly string[], quote: string): { value: string; rest: string; lines: number } | undefined {
  const source = lines.join('\n');
  let value = '';
  for (let at = 0; at < source.length; at++) {
    const character = source[at] ?? '';
    if (character === quote) {
      const end = source.indexOf('\n', at);
      const rest = source.slice(at + 1, end === -1 ? undefined : end);
      return { value, rest, lines: source.slice(0, at).split('\n').length };
    }
    if (character === '\\' && quote === '"') {
      const next = source[++at] ?? '';
      value += escapes[next] ?? `\\${next}`;
    } else {
      value += character;
    }
  }
  return undefined;
}
