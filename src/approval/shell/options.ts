import { isUnknown } from './values.ts';

/** The arguments of a program, sorted into options and the rest. */
export interface Options {
  /** Letters and long names, without dashes. */
  has(...names: readonly string[]): boolean;
  valuesOf(...names: readonly string[]): readonly string[];
  rest: readonly string[];
}

/** Which options take the next word, as letters and as long names. */
export interface Valued {
  short?: string;
  long?: readonly string[];
}

/** Reads arguments as GNU programs do: clusters, `--name=value`, abbreviated long names, options after operands, `--`. */
export function readOptions(args: readonly string[], valued: Valued = {}, stopAtOperand = false): Options {
  const short = valued.short ?? '';
  const long = new Set(valued.long ?? []);
  const flags = new Set<string>();
  const words = new Set<string>();
  const values: [string, string][] = [];
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') {
      rest.push(...args.slice(at + 1));
      break;
    }
    if (arg.startsWith('--')) {
      const [name = '', ...text] = arg.slice(2).split('=');
      flags.add(name);
      if (text.length > 0) values.push([name, text.join('=')]);
      else if (long.has(name)) values.push([name, args[++at] ?? '']);
    } else if (arg.startsWith('-') && arg.length > 1) {
      if (long.has(arg.slice(1))) {
        flags.add(arg.slice(1));
        values.push([arg.slice(1), args[++at] ?? '']);
        continue;
      }
      words.add(arg.slice(1));
      for (let letter = 1; letter < arg.length; letter++) {
        const name = arg[letter] as string;
        flags.add(name);
        if (!short.includes(name)) continue;
        values.push([name, arg.slice(letter + 1) || (args[++at] ?? '')]);
        break;
      }
    } else {
      rest.push(arg);
      if (stopAtOperand) {
        rest.push(...args.slice(at + 1));
        break;
      }
    }
  }
  return {
    has: (...names) =>
      names.some(
        (name) =>
          flags.has(name) || words.has(name) || (name.length > 1 && [...flags].some((flag) => flag.length > 1 && name.startsWith(flag))),
      ),
    valuesOf: (...names) => values.filter(([name]) => names.includes(name)).map(([, value]) => value),
    rest,
  };
}

/** Whether any word that starts with something unknown could be an option or an operand nobody expects. */
export function startsUnknown(args: readonly string[]): boolean {
  return args.some((arg) => isUnknown(arg.slice(0, 1)) || /^-+[\uE000-\uE002]/.test(arg));
}
