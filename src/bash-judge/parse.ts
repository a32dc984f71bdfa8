import { type ParsedScript, parse } from 'unbash';
import { placeholders } from './values.ts';

/** A longer command is not looked at: people could not read it before answering either. */
export const maxCharacters = 65_536;
/** The parser takes time in the square of the number of open braces. */
const maxBraces = 2_000;

export type Parsed = { script: ParsedScript } | { problem: 'shell/too-complex' | 'shell/unparseable'; before: ParsedScript | undefined };

/** Never throws, and takes time bounded by the length it accepts. */
export function parseCommand(source: string): Parsed {
  if (source.length > maxCharacters || source.split('{').length > maxBraces) return { problem: 'shell/too-complex', before: undefined };
  // Security: these characters stand for what is not known.
  if (source.includes('\0') || placeholders.test(source)) return { problem: 'shell/unparseable', before: undefined };
  try {
    const script = parse(source);
    const [error] = script.errors ?? [];
    if (!error) return { script };
    // Security: bash runs the lines before the one it cannot read.
    const lines = source.slice(0, source.lastIndexOf('\n', error.pos) + 1);
    return { problem: 'shell/unparseable', before: lines === '' ? script : parse(lines) };
  } catch {
    return { problem: 'shell/unparseable', before: undefined };
  }
}
