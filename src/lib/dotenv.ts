import { isDeepStrictEqual } from 'node:util';

interface DotenvEntry {
  name: string;
  value: string;
  /** Counted from 1; where a value of several lines starts. */
  line: number;
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
    else result.entries.push({ name, value, line });
  }
  return result;
}

/**
 * The text with one variable set, and nothing else changed: its line is replaced, or one is added at the end. A value that cannot be written so
 * that it is read again is refused.
 */
export function setInDotenv(text: string, name: string, value: string): string {
  const written = `${name}=${quoted(value)}`;
  const line = parseDotenv(text).entries.findLast((entry) => entry.name === name)?.line;
  const lines = text.split('\n');
  const found = line === undefined ? undefined : lines[line - 1];
  // What spans several lines stays: of two entries with one name the later counts.
  const isWhole = found !== undefined && parseDotenv(found).mistakes.length === 0;
  if (isWhole && line !== undefined) lines[line - 1] = written;
  const after = isWhole ? lines.join('\n') : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${written}\n`;
  const wanted = { ...valuesIn(text), [name]: value };
  if (!isDeepStrictEqual(valuesIn(after), wanted)) throw new Error(`${name} cannot be written into this file without changing more`);
  return after;
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
