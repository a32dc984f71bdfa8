import { type ParsedScript, parse } from 'unbash';

/** A longer command is not looked at: nobody could read it before answering either. */
export const mostCharacters = 65_536;
/** The parser takes time in the square of the number of open braces. */
const mostBraces = 2_000;

export interface Parsed {
  problem: 'shell/too-complex' | 'shell/unparseable' | undefined;
  /** What there is to look at: the command, or what can be made out of one that is not complete. */
  scripts: readonly ParsedScript[];
}

/** Never throws, and takes time bounded by the length it accepts. */
export function parseCommand(source: string): Parsed {
  if (source.length > mostCharacters || countOf(source, '{') > mostBraces) return { problem: 'shell/too-complex', scripts: [] };
  if (source.includes('\0')) return { problem: 'shell/unparseable', scripts: [] };
  try {
    const script = parse(source);
    const [error] = script.errors ?? [];
    if (!error) return { problem: undefined, scripts: [script] };
    // Security: bash runs the lines before the one it cannot read.
    const lines = source.slice(0, source.lastIndexOf('\n', error.pos) + 1);
    return { problem: 'shell/unparseable', scripts: lines === '' ? [script] : [parse(lines), script] };
  } catch {
    return { problem: 'shell/unparseable', scripts: [] };
  }
}

function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++;
  return count;
}
