import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory } from '../../src/lib/make-directory.ts';

describe('makeDirectory', () => {
  let scratch: string;
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'hermetic-make-'));
  });
  afterEach(() => rmSync(scratch, { recursive: true }));

  it('makes missing parents with the same mode, and tells whether the directory is new', () => {
    const path = join(scratch, 'a/b/c');
    expect(makeDirectory(path, 0o700)).toBe(true);
    expect(makeDirectory(path, 0o755)).toBe(false);
    for (const each of ['a', 'a/b', 'a/b/c']) expect(statSync(join(scratch, each)).mode & 0o777).toBe(0o700);
  });

  it('accepts a directory behind a link, and fails at a file and at a dangling link', () => {
    makeDirectory(join(scratch, 'real'), 0o700);
    symlinkSync('real', join(scratch, 'link'));
    symlinkSync('nothing', join(scratch, 'dangling'));
    writeFileSync(join(scratch, 'file'), '');
    expect(makeDirectory(join(scratch, 'link'), 0o700)).toBe(false);
    expect(makeDirectory('/', 0o700)).toBe(false);
    for (const path of ['file', 'dangling', 'dangling/below']) {
      expect(() => makeDirectory(join(scratch, path), 0o700)).toThrow(/EEXIST/);
    }
    expect(() => makeDirectory(join(scratch, 'file/below'), 0o700)).toThrow(/ENOTDIR/);
  });

  it('fails where nothing can be made, instead of retrying for ever', () => {
    for (const path of ['/proc/nope', '/proc/nope/deeper']) expect(() => makeDirectory(path, 0o700)).toThrow(/ENOENT/);
  });
});
