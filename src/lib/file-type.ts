const signatures: readonly (readonly [mime: string, offset: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
  ['image/bmp', 0, 'BM'],
  ['image/tiff', 0, 'II*\0'],
  ['image/tiff', 0, 'MM\0*'],
  ['image/x-icon', 0, '\0\0\x01\0'],
  ['image/avif', 4, 'ftypavif'],
  ['image/heic', 4, 'ftypheic'],
  ['application/pdf', 0, '%PDF-'],
  ['application/zip', 0, 'PK\x03\x04'],
  ['application/zip', 0, 'PK\x05\x06'],
  ['application/gzip', 0, '\x1f\x8b'],
  ['application/zstd', 0, '\x28\xb5\x2f\xfd'],
  ['application/x-xz', 0, '\xfd7zXZ\0'],
  ['application/x-bzip2', 0, 'BZh'],
  ['application/x-7z-compressed', 0, '7z\xbc\xaf\x27\x1c'],
  ['application/x-tar', 257, 'ustar'],
  ['application/vnd.sqlite3', 0, 'SQLite format 3\0'],
  ['application/x-executable', 0, '\x7fELF'],
  ['application/wasm', 0, '\0asm'],
  ['application/java-vm', 0, '\xca\xfe\xba\xbe'],
  ['application/vnd.ms-office', 0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['audio/wav', 8, 'WAVE'],
  ['audio/mpeg', 0, 'ID3'],
  ['audio/flac', 0, 'fLaC'],
  ['application/ogg', 0, 'OggS'],
  ['video/webm', 0, '\x1aE\xdf\xa3'],
  ['video/mp4', 4, 'ftyp'],
  ['text/plain; charset=utf-16le', 0, '\xff\xfe'],
  ['text/plain; charset=utf-16be', 0, '\xfe\xff'],
];

/** The likely type of a file that is not UTF-8 text, by its first bytes. */
export function guessType(beginning: Uint8Array): string {
  const text = Buffer.from(beginning.subarray(0, 512)).toString('latin1');
  const found = signatures.find(([, offset, bytes]) => text.startsWith(bytes, offset));
  if (found) return found[0];
  return text.includes('\0') ? 'application/octet-stream' : 'text/plain; charset=unknown';
}
