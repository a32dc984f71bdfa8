import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyCredentials, homeMounts } from '../../src/sandboxes/home-mounts.ts';

let root: string;
let hermeticHome: string;
let credentialsDirectory: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hermetic-homeMounts-'));
  hermeticHome = join(root, 'home');
  credentialsDirectory = join(root, 'sandbox', 'credentials');
  mkdirSync(join(hermeticHome, 'google'), { recursive: true });
  writeFileSync(join(hermeticHome, 'google', 'token.json'), 'first', { mode: 0o600 });
  writeFileSync(join(root, 'outside'), 'secret');
});
afterEach(() => rmSync(root, { recursive: true }));

async function offer(...credentialFiles: string[]) {
  const options = { hermeticHome, credentialFiles, credentialsDirectory };
  const mounts = await homeMounts(options);
  await copyCredentials(options);
  return mounts;
}

describe('mounts from the home', () => {
  it('mounts nothing from an empty home', async () => {
    expect(await offer()).toEqual([]);
  });

  it('mounts credentials, skills and cache read-only', async () => {
    mkdirSync(join(hermeticHome, 'skills'));
    mkdirSync(join(hermeticHome, 'cache'));
    expect(await offer('google/token.json')).toEqual([
      { source: credentialsDirectory, target: '/opt/hermetic/credentials', readOnly: true },
      { source: join(hermeticHome, 'skills'), target: '/opt/hermetic/skills', readOnly: true },
      { source: join(hermeticHome, 'cache'), target: '/opt/hermetic/cache', readOnly: true },
    ]);
  });

  it('copies the named credential files in their current version, and no others', async () => {
    await offer('google/token.json');
    const copy = join(credentialsDirectory, 'google', 'token.json');
    expect(readFileSync(copy, 'utf8')).toBe('first');
    expect(statSync(copy).mode & 0o777).toBe(0o444);
    writeFileSync(join(hermeticHome, 'google', 'token.json'), 'second');
    writeFileSync(join(hermeticHome, 'other'), 'other');
    await offer('google/token.json', 'other');
    expect(readFileSync(copy, 'utf8')).toBe('second');
    await offer('other');
    expect(existsSync(copy)).toBe(false);
  });

  it.each([
    ['a way out by dots', '../outside'],
    ['an absolute path that is not below the home', '/etc/passwd'],
    ['a directory', 'google'],
    ['the home itself', '.'],
    ['a file that is not there', 'missing'],
  ])('refuses %s as a credential file, and copies nothing', async (_, name) => {
    await expect(offer('google/token.json', name)).rejects.toMatchObject({ code: 'config/bad-value' });
    expect(existsSync(credentialsDirectory)).toBe(false);
  });

  it('refuses a link that leads out of the home, even of a directory', async () => {
    symlinkSync(join(root, 'outside'), join(hermeticHome, 'link'));
    await expect(offer('link')).rejects.toThrow(/leads out/);
    symlinkSync('/etc', join(hermeticHome, 'skills'));
    await expect(offer()).rejects.toThrow(/leads out/);
  });
});
