import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { replaceFile } from '../../src/lib/replace-file.ts';
import { makeScratch } from '../config/scratch.ts';

describe('replaceFile', () => {
  let directory: string;
  let file: string;

  beforeEach(() => {
    directory = makeScratch();
    file = join(directory, 'a.txt');
  });

  test('makes a file with the given mode and leaves nothing beside it', () => {
    replaceFile(file, { mode: 0o600 }, (text) => `${text}!`);
    expect(readFileSync(file, 'utf8')).toBe('undefined!');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['a.txt']);
  });

  test('keeps the mode of a file that exists', () => {
    writeFileSync(file, 'old');
    chmodSync(file, 0o644);
    replaceFile(file, { mode: 0o600 }, () => 'new');
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  test('puts a new file in place of the old one instead of writing into it', () => {
    writeFileSync(file, 'old');
    const before = statSync(file).ino;
    replaceFile(file, { mode: 0o600 }, () => 'new');
    expect(statSync(file).ino).not.toBe(before);
  });

  test('changes nothing when the change throws or gives nothing new', () => {
    writeFileSync(file, 'old');
    const { ino, mtimeNs } = statSync(file, { bigint: true });
    expect(() =>
      replaceFile(file, { mode: 0o600 }, () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    replaceFile(file, { mode: 0o600 }, (text) => text);
    replaceFile(file, { mode: 0o600 }, () => undefined);
    expect(statSync(file, { bigint: true })).toMatchObject({ ino, mtimeNs });
    expect(readdirSync(directory)).toEqual(['a.txt']);
  });

  test('follows symbolic links, also to a file that does not exist yet, and keeps them', () => {
    mkdirSync(join(directory, 'real'));
    symlinkSync('real/b.txt', join(directory, 'hop'));
    symlinkSync('hop', file);
    replaceFile(file, { mode: 0o600 }, () => 'new');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(directory, 'real/b.txt')).isFile()).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('new');
  });

  test('refuses a link that leads to itself', () => {
    symlinkSync('a.txt', file);
    expect(() => replaceFile(file, { mode: 0o600 }, () => 'new')).toThrow('leads to itself');
  });

  test('refuses bytes that are not text instead of mangling them', () => {
    const bytes = Buffer.from([0x61, 0xff, 0x62]);
    writeFileSync(file, bytes);
    expect(() => replaceFile(file, { mode: 0o600 }, (text) => `${text}!`)).toThrow();
    expect(readFileSync(file)).toEqual(bytes);
  });

  test('waits for another writer, gives up on one that stays, and removes the remains of a crash', () => {
    writeFileSync(`${file}.lock`, '');
    expect(() => replaceFile(file, { mode: 0o600, deadlineMs: 60 }, () => 'new')).toThrow('something else');
    expect(existsSync(file)).toBe(false);
    utimesSync(`${file}.lock`, 0, 0);
    replaceFile(file, { mode: 0o600, deadlineMs: 60 }, () => 'new');
    expect(readdirSync(directory)).toEqual(['a.txt']);
  });

  test('loses no change when several processes write at once', async () => {
    const source = join(import.meta.dirname, '../../src/lib/replace-file.ts');
    const script = `
      const { replaceFile } = await import(${JSON.stringify(source)});
      for (let i = 0; i < 20; i++) replaceFile(${JSON.stringify(file)}, { mode: 0o600, deadlineMs: 60_000 }, (text = '') => text + process.argv[1]);`;
    const writers = ['a', 'b', 'c', 'd'];
    await Promise.all(writers.map((letter) => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, letter])));
    const text = readFileSync(file, 'utf8');
    expect(writers.map((letter) => text.split(letter).length - 1)).toEqual([20, 20, 20, 20]);
  });
});
