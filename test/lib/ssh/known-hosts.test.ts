import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifyHostKey } from '../../../src/lib/ssh/host-keys.ts';
import { fingerprintOf, judgeHostKey, knownKeyTypes, withHostKey } from '../../../src/lib/ssh/known-hosts.ts';
import { itNeeding } from '../../needs.ts';

const keyOf = (letter: string, type = 'ssh-ed25519'): Buffer => {
  const parts = [Buffer.from(type), Buffer.alloc(32, letter)];
  return Buffer.concat(parts.flatMap((part) => [Buffer.from([0, 0, 0, part.length]), part]));
};
const [known, other] = [keyOf('a'), keyOf('b')];
const entry = (names: string, key = known, marker = ''): string => `${marker}${names} ssh-ed25519 ${key.toString('base64')} a comment\n`;

describe('a file of known hosts', () => {
  it.each([
    ['host', 'host'],
    ['Host.Example', 'host.example'],
    ['other,host', 'host'],
    ['*.example', 'a.b.example'],
    ['h?st', 'host'],
    ['[host]:2222', '[host]:2222'],
    ['[*]:2222', '[host]:2222'],
    ['10.0.0.*', '10.0.0.7'],
  ])('knows by %j the host %j', (names, host) => {
    expect(judgeHostKey(entry(names), host, known)).toEqual({ kind: 'known' });
  });

  it.each([
    ['host', '[host]:2222'],
    ['[host]:2222', 'host'],
    ['*,!host', 'host'],
    ['hos', 'host'],
    ['ho.t', 'host'],
    ['#host', 'host'],
    ['', 'host'],
  ])('does not know by %j the host %j', (names, host) => {
    expect(judgeHostKey(entry(names), host, known)).toEqual({ kind: 'unknown' });
  });

  it('refuses a key that has changed, also for one of another type, and names the lines of the known ones', () => {
    const text = `# a comment\n\n${entry('host')}${entry('x', other)}`;
    const changed = { kind: 'changed', known: [{ line: 3, fingerprint: fingerprintOf(known) }] };
    expect(judgeHostKey(text, 'host', other)).toEqual(changed);
    expect(judgeHostKey(text, 'host', keyOf('a', 'ssh-rsa'))).toEqual(changed);
    expect(knownKeyTypes(text, 'host')).toEqual(['ssh-ed25519']);
  });

  it('takes any of several keys of a host, and a revoked one never', () => {
    expect(judgeHostKey(entry('host') + entry('host', other), 'host', other)).toEqual({ kind: 'known' });
    expect(judgeHostKey(entry('host') + entry('*', known, '@revoked '), 'host', known)).toEqual({ kind: 'revoked', line: 2 });
  });

  it('does not take the key of an authority for that of the host', () => {
    const text = entry('*.example', known, '@cert-authority ');
    expect(judgeHostKey(text, 'a.example', known)).toEqual({ kind: 'authority', line: 1 });
    expect(judgeHostKey(text, 'b.other', known)).toEqual({ kind: 'unknown' });
    expect(judgeHostKey(text + entry('a.example', other), 'a.example', other)).toEqual({ kind: 'known' });
  });

  itNeeding(['ssh-keygen'], 'finds the names that ssh-keygen has hashed, and hashes where the file does', () => {
    const directory = temporary();
    const path = join(directory, 'known_hosts');
    writeFileSync(path, entry('host') + entry('[host]:2222', other));
    execFileSync('ssh-keygen', ['-q', '-H', '-f', path], { stdio: 'ignore' });
    const hashed = readFileSync(path, 'utf8');
    expect(hashed).not.toContain('host ');
    expect([judgeHostKey(hashed, 'host', known), judgeHostKey(hashed, '[host]:2222', other)]).toEqual([
      { kind: 'known' },
      { kind: 'known' },
    ]);
    const more = withHostKey(hashed, 'secret.example', other);
    expect(more).not.toContain('secret');
    writeFileSync(path, more);
    const found = execFileSync('ssh-keygen', ['-l', '-F', 'secret.example', '-f', path]).toString();
    expect(found).toContain(fingerprintOf(other));
  });

  it('keeps a last line without an end apart from a new one', () => {
    expect(withHostKey('x', 'host', known)).toBe(`x\nhost ssh-ed25519 ${known.toString('base64')}\n`);
  });
});

describe('verifying the key of a host', () => {
  const target = { user: 'ada', host: 'host', port: 2222 };

  it('remembers a new host for its owner alone, and makes the directory for that', () => {
    const path = join(temporary(), '.ssh', 'known_hosts');
    verifyHostKey({ path, acceptNew: true }, target, known);
    expect(readFileSync(path, 'utf8')).toBe(`[host]:2222 ssh-ed25519 ${known.toString('base64')}\n`);
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(join(path, '..'))).toEqual(['known_hosts']);
    verifyHostKey({ path, acceptNew: false }, target, known);
  });

  it('refuses a new host when it is strict, and writes nothing', () => {
    const path = join(temporary(), 'known_hosts');
    expect(() => verifyHostKey({ path, acceptNew: false }, target, known)).toThrow(fingerprintOf(known));
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  it('names both fingerprints and the remedy for a key that has changed, and leaves the file as it is', () => {
    const path = join(temporary(), 'known_hosts');
    writeFileSync(path, entry('[host]:2222'));
    for (const acceptNew of [true, false]) {
      const verify = (): void => verifyHostKey({ path, acceptNew }, target, other);
      expect(verify).toThrow(new RegExp(`${fingerprintOf(other)}.*${fingerprintOf(known)}`.replaceAll('+', '\\+')));
      expect(verify).toThrow(expect.objectContaining({ kind: 'host-key', hint: expect.stringContaining("-R '[host]:2222'") }));
    }
    expect(readFileSync(path, 'utf8')).toBe(entry('[host]:2222'));
  });

  it.each([
    ['@revoked ', /revoked/],
    ['@cert-authority ', /authority.*not supported/],
  ])('refuses a host with the line %j', (marker, reason) => {
    const path = join(temporary(), 'known_hosts');
    writeFileSync(path, entry('*', known, marker));
    expect(() => verifyHostKey({ path, acceptNew: true }, target, known)).toThrow(reason);
    expect(readFileSync(path, 'utf8')).toBe(entry('*', known, marker));
  });

  it('refuses when the file cannot be read or written', () => {
    const directory = temporary();
    expect(() => verifyHostKey({ path: directory, acceptNew: true }, target, known)).toThrow(/cannot be read/);
    writeFileSync(join(directory, 'file'), '');
    expect(() => verifyHostKey({ path: join(directory, 'file', 'known_hosts'), acceptNew: true }, target, known)).toThrow(/known/);
  });
});

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-known-hosts-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}
