import { createHash, createHmac, randomBytes } from 'node:crypto';

/** How a file of known hosts speaks of a key that a host has shown. Lines are counted from 1. */
export type HostKeyVerdict =
  | { kind: 'known' }
  | { kind: 'unknown' }
  /** The host is known by these keys, and the one it has shown is none of them. */
  | { kind: 'changed'; known: readonly { line: number; fingerprint: string }[] }
  | { kind: 'revoked'; line: number }
  /** The file trusts an authority for this host, whose certificates cannot be verified. */
  | { kind: 'authority'; line: number };

interface Entry {
  line: number;
  marker: string;
  names: string;
  type: string;
  key: Buffer;
}

/** `name` as `addressText` writes it. */
export function judgeHostKey(text: string, name: string, key: Buffer): HostKeyVerdict {
  const entries = entriesFor(text, name);
  const same = entries.filter((entry) => entry.key.equals(key));
  const revoked = same.find(({ marker }) => marker === '@revoked');
  if (revoked) return { kind: 'revoked', line: revoked.line };
  if (same.some(({ marker }) => marker === '')) return { kind: 'known' };
  const known = entries.filter(({ marker }) => marker === '');
  // Security: also a key of another type. A host that gets one more has the old one too, and is asked for that first.
  if (known.length > 0)
    return { kind: 'changed', known: known.map((entry) => ({ line: entry.line, fingerprint: fingerprintOf(entry.key) })) };
  const authority = entries.find(({ marker }) => marker === '@cert-authority');
  return authority ? { kind: 'authority', line: authority.line } : { kind: 'unknown' };
}

/** The types of the keys by which the host is known. */
export function knownKeyTypes(text: string, name: string): string[] {
  return entriesFor(text, name).flatMap(({ marker, type }) => (marker === '' ? [type] : []));
}

/** The file with one more host. Names are hashed where the file has hashed ones. */
export function withHostKey(text: string, name: string, key: Buffer): string {
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  const isHashed = /^\|1\|/m.test(text);
  return `${before}${isHashed ? hashedName(name) : name} ${keyTypeOf(key)} ${key.toString('base64')}\n`;
}

/** As `ssh-keygen -l` prints it. */
export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

export function keyTypeOf(key: Buffer): string {
  const length = key.length >= 4 ? key.readUInt32BE(0) : 0;
  return key.toString('latin1', 4, 4 + Math.min(length, 64));
}

/** Lines that are no entries mean nothing, as for ssh itself. */
function entriesFor(text: string, name: string): Entry[] {
  return text.split('\n').flatMap((row, index) => {
    const [, marker = '', names = '', type = '', encoded = ''] =
      /^\s*(?:(@\S+)\s+)?([^\s#@]\S*)\s+(\S+)\s+([A-Za-z0-9+/=]+)/.exec(row) ?? [];
    if (encoded === '' || !matches(names, name)) return [];
    return [{ line: index + 1, marker, names, type, key: Buffer.from(encoded, 'base64') }];
  });
}

/** A list of patterns, of which one that begins with ! takes back what the others match; or one hashed name. */
function matches(names: string, name: string): boolean {
  const wanted = name.toLowerCase();
  if (names.startsWith('|')) return isHashOf(names, wanted);
  const patterns = names.toLowerCase().split(',');
  if (patterns.some((pattern) => pattern.startsWith('!') && isMatch(pattern.slice(1), wanted))) return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && isMatch(pattern, wanted));
}

/** `*` and `?` are all that is special in a pattern. */
function isMatch(pattern: string, name: string): boolean {
  const expression = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${expression}$`, 's').test(name);
}

function isHashOf(names: string, name: string): boolean {
  const [, salt, hash] = /^\|1\|([^|]+)\|([^|]+)$/.exec(names) ?? [];
  return salt !== undefined && hashOf(name, Buffer.from(salt, 'base64')) === hash;
}

function hashedName(name: string): string {
  const salt = randomBytes(20);
  return `|1|${salt.toString('base64')}|${hashOf(name.toLowerCase(), salt)}`;
}

function hashOf(name: string, salt: Buffer): string {
  return createHmac('sha1', salt).update(name).digest('base64');
}
