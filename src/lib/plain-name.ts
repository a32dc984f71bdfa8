const maxStartBytes = 160;
const maxEndSigns = 10;

/**
 * Makes a safe file name of any text. Security: no directories, nothing hidden, nothing that does not show, nothing that a
 * program takes for an option, and short enough for every file system, also with a number beside it.
 */
export function plainName(name: string): string {
  const last = name.split(/[/\\]/).findLast((part) => !/^[.\s]*$/.test(part)) ?? '';
  const plain = last
    .toWellFormed()
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, '_')
    .replace(/^[.\s-]+/, '')
    .trimEnd();
  return shortened(plain) || 'file';
}

/** Its start and its end, which says what kind of file it is. */
function shortened(name: string): string {
  // No sign takes more than four bytes.
  if (Buffer.byteLength(name) <= maxStartBytes + 4 * maxEndSigns) return name;
  let start = '';
  let bytes = 0;
  for (const sign of name) {
    bytes += Buffer.byteLength(sign);
    if (bytes > maxStartBytes) break;
    start += sign;
  }
  return `${start}${[...name].slice(-maxEndSigns).join('')}`;
}
