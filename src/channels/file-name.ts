/** Security: libraries write the name of a file into a header as it is. */
export function safeFileName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}"';\\/]+/gu, '_').slice(0, 200) || 'file';
}
