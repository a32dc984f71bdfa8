import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readAuthorities, trustIn } from '../../src/sandboxes/trust.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hermetic-trust-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const yearMs = 365 * 86_400_000;

it('the authority is made once, in a file for its owner alone', () => {
  const first = readAuthorities(home);
  expect(readAuthorities(home)).toEqual(first);
  expect(statSync(join(home, 'egress/authority.pem')).mode & 0o777).toBe(0o600);
});

it('the authority is renewed after a year, and the former one is trusted until it has ended', () => {
  const first = readAuthorities(home);
  expect(readAuthorities(home, Date.now() + 0.9 * yearMs)).toEqual(first);
  const second = readAuthorities(home, Date.now() + 1.1 * yearMs);
  expect(second.former).toEqual([first.current.certificate]);
  expect(second.current.certificate).not.toBe(first.current.certificate);
  const third = readAuthorities(home, Date.now() + 2.3 * yearMs);
  expect(third.former).toEqual([second.current.certificate]);
});

it('an authority that others can read, or that is damaged, is refused', () => {
  const path = join(home, 'egress/authority.pem');
  readAuthorities(home);
  chmodSync(path, 0o644);
  expect(() => readAuthorities(home)).toThrow(expect.objectContaining({ code: 'config/unreadable' }));
  chmodSync(path, 0o600);
  const [certificate] = readFileSync(path, 'utf8').match(/-----BEGIN CERT.*/s) ?? [];
  writeFileSync(path, certificate ?? '');
  expect(() => readAuthorities(home)).toThrow(/does not hold a certificate authority/);
});

it('sandboxes get the certificate and never the key', () => {
  const authorities = readAuthorities(home);
  const { mount } = trustIn(home, authorities);
  const files = readdirSync(mount.source).map((name) => readFileSync(join(mount.source, name), 'latin1'));
  expect(files.join('').includes('PRIVATE KEY')).toBe(false);
  const [own] = readFileSync(join(mount.source, 'authority.pem'), 'utf8').match(/-----BEGIN.*-----END CERTIFICATE-----\n/s) ?? [];
  expect(new X509Certificate(own ?? '').ca).toBe(true);
  expect(readFileSync(join(mount.source, 'roots.pem'), 'utf8')).toContain(authorities.current.certificate);
});

it('the files of sandboxes stay as they are while nothing changes', () => {
  const { mount } = trustIn(home, readAuthorities(home));
  const inodes = () => readdirSync(mount.source).map((name) => statSync(join(mount.source, name)).ino);
  const before = inodes();
  trustIn(home, readAuthorities(home));
  expect(inodes()).toEqual(before);
});

it('every variable for trust has a value and names a file that is there', () => {
  const { mount, env } = trustIn(home, readAuthorities(home));
  for (const [name, value] of Object.entries(env)) {
    const [, file] = /\/opt\/hermetic\/trust\/([a-z.]+)/.exec(value) ?? [];
    expect(readdirSync(mount.source), name).toContain(file);
  }
});
