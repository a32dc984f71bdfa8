/** Security: text of others on one line, without anything that a terminal obeys, turns text around or does not show. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
