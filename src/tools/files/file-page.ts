import { characterEnd } from '../../lib/decode-utf8.ts';

export interface Page {
  bytes: Buffer;
  /** How many lines it touches. */
  lines: number;
  /** Of the last line, when it goes on: how much of it has been given, counted from its start. */
  partOfLine: number | undefined;
}

/** Characters of a line number. */
const bytesPerNumber = 8;

/** How many lines from the start of `bytes` fit. Whole lines, unless the first alone is too long, of which `skipped` bytes are gone already. */
export function pageOf(bytes: Buffer, most: { lines: number; bytes: number }, skipped: number): Page {
  let end = 0;
  let lines = 0;
  let budget = most.bytes;
  while (lines < most.lines && end < bytes.length) {
    const newline = bytes.indexOf(10, end);
    const next = newline === -1 ? bytes.length : newline + 1;
    const cost = next - end + bytesPerNumber;
    if (cost > budget && lines > 0) break;
    if (cost > budget) {
      const cut = Math.max(characterEnd(bytes, Math.max(4, budget - bytesPerNumber)), 1);
      return { bytes: bytes.subarray(0, cut), lines: 1, partOfLine: skipped + cut };
    }
    budget -= cost;
    end = next;
    lines += 1;
  }
  return { bytes: bytes.subarray(0, end), lines, partOfLine: undefined };
}

/** Where a line starts, counted from 1; undefined when there are fewer. */
export function lineStart(bytes: Buffer, line: number): number | undefined {
  let start = 0;
  for (let passed = 1; passed < line; passed++) {
    const newline = bytes.indexOf(10, start);
    if (newline === -1 || newline + 1 === bytes.length) return undefined;
    start = newline + 1;
  }
  return start;
}

export function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines += 1;
  return bytes.length > 0 && bytes.at(-1) !== 10 ? lines + 1 : lines;
}

/** Numbers in front of lines, as `cat -n` prints them. */
export function numbered(text: string, first: number): string {
  if (text === '') return '';
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
  return lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n');
}
