const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Where the last whole character before `end` ends. */
export function characterEnd(bytes: Uint8Array, end: number): number {
  let start = end;
  while (start > 0 && start > end - 4 && ((bytes[start - 1] ?? 0) & 0xc0) === 0x80) start -= 1;
  const lead = bytes[start - 1] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return length > 1 && start - 1 + length > end ? start - 1 : end;
}
