import { type ParsedScript, parse } from 'unbash';

/** A longer command is not looked at: nobody could read it before answering either. */
export const mostCharacters = 65_536;
/** The parser takes time in the square of the number of open braces. */
const mostBraces = 2_000;

export type Parsed = { script: ParsedScript } | { problem: 'shell/too-complex' | 'shell/unparseable' };

/** Never throws, and takes time bounded by the length it accepts. */
export function parseCommand(source: string): Parsed {
  if (source.length > mostCharacters || countOf(source, '{') > mostBraces) return { problem: 'shell/too-complex' };
  if (source.includes('\0')) return { problem: 'shell/unparseable' };
  try {
    const script = parse(source);
    return script.errors && script.errors.length > 0 ? { problem: 'shell/unparseable' } : { script };
  } catch {
    return { problem: 'shell/unparseable' };
  }
}

function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++;
  return count;
}
