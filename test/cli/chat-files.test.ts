import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { chatFiles } from '../../src/cli/chat-files.ts';

let root: string;
let directory: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hermetic-files-'));
  directory = join(root, 'received');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const save = (name: string, text = 'x') => chatFiles(directory).save(name, Buffer.from(text));

it.each([
  ['../../.ssh/authorized_keys', 'authorized_keys'],
  ['..\\..\\autoexec.bat', 'autoexec.bat'],
  ['/etc/passwd', 'passwd'],
  ['.bashrc', 'bashrc'],
  ['-rf', 'rf'],
  ['a\u0000b\u001b[2J\u202Egnp.exe', 'a_b_[2J_gnp.exe'],
  ['..', 'file'],
  ['', 'file'],
])('saves the file %j in its own directory as %s', async (name, expected) => {
  const path = await save(name);
  expect([dirname(path), basename(path)]).toEqual([directory, expected]);
  expect([statSync(path).mode & 0o777, statSync(directory).mode & 0o777]).toEqual([0o600, 0o700]);
});

it('shortens a file name that is too long, and keeps its end', async () => {
  const name = basename(await save(`${'ü'.repeat(500)}.tar.gz`));
  expect(Buffer.byteLength(name)).toBeLessThan(255);
  expect(name).toMatch(/\.tar\.gz$/);
});

it('overwrites no file, and follows no link', async () => {
  await save('a.txt', 'first');
  const outside = join(root, 'outside');
  writeFileSync(outside, 'mine');
  symlinkSync(outside, join(directory, 'a-2.txt'));
  expect(basename(await save('a.txt', 'second'))).toBe('a-3.txt');
  expect(readFileSync(join(directory, 'a.txt'), 'utf8')).toBe('first');
  expect(readFileSync(outside, 'utf8')).toBe('mine');
  expect(readdirSync(directory).sort()).toEqual(['a-2.txt', 'a-3.txt', 'a.txt']);
});

it('reads no more of a file than its limit, and no directory', async () => {
  const path = join(root, 'large');
  writeFileSync(path, 'x'.repeat(100));
  const files = chatFiles(directory);
  await expect(files.read(path, 99)).rejects.toThrow('larger than 99 bytes');
  expect(await files.read(path, 100)).toHaveLength(100);
  await expect(files.find(root)).rejects.toThrow('not a file');
});

it('refuses a named pipe without waiting for a writer', async () => {
  const path = join(root, 'pipe');
  execFileSync('mkfifo', [path]);
  let isReleased = false;
  // For a version that waits, so that it fails instead.
  const release = setTimeout(() => {
    isReleased = true;
    writeFileSync(path, '');
  }, 15_000);
  await expect(chatFiles(directory).read(path, 1000)).rejects.toThrow('it is not a file');
  clearTimeout(release);
  expect(isReleased).toBe(false);
}, 30_000);
