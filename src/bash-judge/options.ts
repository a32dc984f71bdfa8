import type { Kind, Program } from './tables/program.ts';
import type { RuleId } from './tables/rules.ts';

/** An option as its row names it. */
interface Option {
  /** undefined: a flag. */
  kind: Kind | undefined;
  /** The value is only taken when it is attached. */
  attachedOnly: boolean;
  asks: RuleId | undefined;
}

interface Row {
  options: ReadonlyMap<string, Option>;
  subcommands: ReadonlyMap<string, Program>;
}

const rows = new WeakMap<Program, Row>();

/** The texts of a row, read once. */
export function readRow(program: Program): Row {
  let row = rows.get(program);
  if (!row) {
    row = { options: optionsIn(program), subcommands: subcommandsIn(program) };
    rows.set(program, row);
  }
  return row;
}

function optionsIn({ options = '', words }: Program): Map<string, Option> {
  const read = new Map<string, Option>();
  for (const text of options.split(/\s+/).filter((one) => one !== '')) {
    const [, names = '', value, rule] = /^([^:!]+)(?::(\w+\??))?(?:!(.+))?$/.exec(text) ?? [];
    const kind = value?.replace('?', '') as Kind | undefined;
    const option: Option = { kind, attachedOnly: value?.endsWith('?') === true, asks: rule as RuleId | undefined };
    const isCluster = !words && /^-[^-]{2,}$/.test(names) && kind === undefined;
    for (const name of isCluster ? [...names.slice(1)].map((letter) => `-${letter}`) : [names]) read.set(name, option);
  }
  return read;
}

function subcommandsIn({ subcommands = {} }: Program): Map<string, Program> {
  return new Map(Object.entries(subcommands).flatMap(([names, row]) => names.split('|').map((name): [string, Program] => [name, row])));
}

/** One of a program's options, as it was given. */
interface Given {
  name: string;
  option: Option | undefined;
  /** undefined: none was given. */
  value: string | undefined;
}

/** Reads an argument that begins with `-`; `taken` of the arguments after it belong to it. */
export function readOption(arg: string, next: string | undefined, program: Program): { given: readonly Given[]; taken: 0 | 1 } {
  const { options } = readRow(program);
  const number = /^-\d+$/.test(arg) ? (options.get('-#') ?? options.get('-n')) : undefined;
  if (number && !options.has(arg)) return { given: [{ name: arg, option: { ...number, kind: undefined }, value: undefined }], taken: 0 };
  if (program.words || arg.startsWith('--') || options.has(arg)) {
    const end = options.has(arg) ? -1 : arg.indexOf('=');
    const name = end === -1 ? arg : arg.slice(0, end);
    const option = options.get(name);
    if (end !== -1 && !(program.words && !option))
      return { given: [{ name, option: option?.kind === undefined ? undefined : option, value: arg.slice(end + 1) }], taken: 0 };
    if (option || arg.startsWith('--')) {
      const takes = option?.kind !== undefined && !option.attachedOnly;
      return { given: [{ name, option, value: takes ? next : undefined }], taken: takes && next !== undefined ? 1 : 0 };
    }
  }
  if (program.words) return readAttached(arg, options);
  return readLetters(arg, next, options);
}

/** A word such as `-Wall`, of which the row names the beginning. */
function readAttached(arg: string, options: ReadonlyMap<string, Option>): ReturnType<typeof readOption> {
  for (let end = arg.length - 1; end > 1; end--) {
    const option = options.get(arg.slice(0, end));
    if (option?.kind !== undefined && option.attachedOnly)
      return { given: [{ name: arg.slice(0, end), option, value: arg.slice(end) }], taken: 0 };
  }
  return { given: [{ name: arg, option: undefined, value: undefined }], taken: 0 };
}

/** Letters behind one dash, the last of which may take a value. */
function readLetters(arg: string, next: string | undefined, options: ReadonlyMap<string, Option>): ReturnType<typeof readOption> {
  const given: Given[] = [];
  for (let at = 1; at < arg.length; at++) {
    const name = `-${arg[at]}`;
    const option = options.get(name);
    const rest = arg.slice(at + 1);
    if (option?.kind === undefined) given.push({ name, option, value: undefined });
    // Some programs leave out the `=` behind a letter, and some do not.
    else if (rest.startsWith('=') && option.kind !== 'text')
      return { given: [...given, { name, option: undefined, value: undefined }], taken: 0 };
    else if (rest !== '' || option.attachedOnly)
      return { given: [...given, { name, option, value: rest === '' ? undefined : rest }], taken: 0 };
    else return { given: [...given, { name, option, value: next }], taken: next === undefined ? 0 : 1 };
    if (!option) break;
  }
  return { given, taken: 0 };
}

/** Which operand is of which kind; undefined when they do not fit. */
export function assignOperands(
  pattern: string,
  operands: readonly string[],
): readonly { kind: Kind; text: string; at: number }[] | undefined {
  const places = pattern
    .split(/\s+/)
    .filter((one) => one !== '')
    .map((one) => ({ kind: one.replace(/[?*+]$/, '') as Kind, count: /[?*+]$/.exec(one)?.[0] ?? '' }));
  const repeating = places.findIndex(({ count }) => count === '*' || count === '+');
  const before = repeating === -1 ? places : places.slice(0, repeating);
  const after = repeating === -1 ? [] : places.slice(repeating + 1);
  const assigned: { kind: Kind; text: string; at: number }[] = [];
  let at = 0;
  const take = (kind: Kind): void => {
    const text = operands[at];
    if (text !== undefined) assigned.push({ kind, text, at: at++ });
  };
  for (const { kind } of before) take(kind);
  const repeated = places[repeating]?.kind;
  const end = operands.length - after.length;
  while (repeated && (repeated === 'variable' ? /^[^=/\s]+=/.test(operands[at] ?? '') : at < end)) take(repeated);
  for (const { kind } of after) take(kind);
  const last = assigned.at(-1)?.kind;
  // Arguments after a command or a script belong to that.
  if (last === 'command' || last === 'script' || last === 'module') return assigned;
  return at === operands.length ? assigned : undefined;
}
