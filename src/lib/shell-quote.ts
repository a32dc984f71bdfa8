/** One word of bash that means exactly `text`. NUL cannot be expressed and must be refused before. */
export function shellQuote(text: string): string {
  if (/^[A-Za-z0-9_\-./:=@%+,]+$/.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same in ASCII alone, for a bash that counts characters by an unknown locale. */
export function asciiQuote(text: string): string {
  if (/^[ -~]*$/.test(text)) return shellQuote(text);
  const bytes = Buffer.from(text).toString('latin1');
  return `$'${bytes.replace(/[^ -&(-[\]-~]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)}'`;
}
