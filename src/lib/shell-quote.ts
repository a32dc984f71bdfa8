/** One word of bash that means exactly `text`. NUL cannot be expressed and must be refused before. */
export function shellQuote(text: string): string {
  if (/^[A-Za-z0-9_\-./:=@%+,]+$/.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
