/** How a text is written down, beyond what it says. */
export interface TextForm {
  bom: boolean;
  /** `none`: it has a single line without an end. */
  lineEnding: 'none' | 'lf' | 'crlf' | 'mixed';
}

const byteOrderMark = '\uFEFF';

export function formOf(text: string): TextForm {
  const crlf = countOf(text, '\r\n');
  const lf = countOf(text, '\n') - crlf;
  const lineEnding = crlf > 0 ? (lf > 0 ? 'mixed' : 'crlf') : lf > 0 ? 'lf' : 'none';
  return { bom: text.startsWith(byteOrderMark), lineEnding };
}

/** Without a byte order mark, and with `\n` at the end of every line. */
export function plainText(text: string): string {
  return unixLines(text.startsWith(byteOrderMark) ? text.slice(1) : text);
}

export function unixLines(text: string): string {
  return text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text;
}

/** Brings text into the form of the file: its byte order mark and line ends. */
export function inForm(text: string, { bom, lineEnding }: TextForm): string {
  const marked = bom && !text.startsWith(byteOrderMark) ? byteOrderMark + text : text;
  return lineEnding === 'crlf' && !marked.includes('\r\n') ? marked.replaceAll('\n', '\r\n') : marked;
}

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
