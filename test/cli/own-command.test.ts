import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bin, installedPath } from '../bin.ts';

const clone = join(import.meta.dirname, '../..');
const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'hermetic-own-command-')));
const near = [dirname(process.execPath), process.env.PATH].join(delimiter);

/** Nothing is fetched: no registry answers there. */
const environment = {
  HOME: scratch,
  HERMETIC_HOME: join(scratch, 'home'),
  npm_config_registry: 'http://127.0.0.1:9',
  npm_config_update_notifier: 'false',
};

interface Start {
  /** The words that start it. */
  words: readonly string[];
  cwd: string;
  path?: string;
}

function run(program: string, words: readonly string[], { cwd, path = near }: Omit<Start, 'words'>) {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd, encoding: 'utf8', env: { ...environment, PATH: path } });
  return { status, stdout, stderr };
}

function runStarted(start: Start, ...args: string[]) {
  const [program = '', ...words] = start.words;
  return run(program, [...words, ...args], start);
}

const directory = (name: string): string => {
  mkdirSync(join(scratch, name), { recursive: true });
  return join(scratch, name);
};
const fromClone = [process.execPath, join(clone, 'bin/hermetic.mjs')];

beforeAll(() => {
  const installed = directory('project/node_modules');
  symlinkSync(clone, join(installed, 'hermetic'));
  mkdirSync(join(installed, '.bin'));
  symlinkSync('../hermetic/bin/hermetic.mjs', join(installed, '.bin/hermetic'));
  writeFileSync(join(scratch, 'project/package.json'), '{}');
  directory('project/docs');
  for (const name of ['other', 'project/inner']) writeFileSync(join(directory(name), 'package.json'), '{}');
  symlinkSync('/bin/true', join(directory('others'), 'hermetic'));
  cpSync(dirname(dirname(bin)), join(directory('with space'), 'copy'), { recursive: true, verbatimSymlinks: true });
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('what the program says to type', () => {
  const copy = join(scratch, 'with space/copy/bin/hermetic.mjs');
  it.each<[string, Start, string]>([
    ['where it was installed', { words: ['hermetic'], cwd: scratch, path: [installedPath, near].join(delimiter) }, 'hermetic'],
    ['where it was installed, by its path', { words: [process.execPath, bin], cwd: scratch, path: installedPath }, 'hermetic'],
    ['in its clone', { words: fromClone, cwd: clone }, 'npx hermetic'],
    ['in its clone, by npx', { words: ['npx', 'hermetic'], cwd: clone }, 'npx hermetic'],
    ['in a folder of its clone', { words: fromClone, cwd: join(clone, 'docs') }, 'npx hermetic'],
    ['in a project that has it', { words: ['npx', 'hermetic'], cwd: join(scratch, 'project/docs') }, 'npx hermetic'],
    ['in a package inside such a project', { words: fromClone, cwd: join(scratch, 'project/inner') }, 'npx hermetic'],
    ['in another project', { words: fromClone, cwd: join(scratch, 'other') }, `node ${fromClone[1]}`],
    ['in no project', { words: fromClone, cwd: scratch }, `node ${fromClone[1]}`],
    [
      'where another program has its name',
      { words: fromClone, cwd: scratch, path: [join(scratch, 'others'), near].join(delimiter) },
      `node ${fromClone[1]}`,
    ],
    ['in a path with a space', { words: [process.execPath, copy], cwd: scratch }, `node '${copy}'`],
    ['where node is another', { words: [process.execPath, bin], cwd: scratch, path: '/nowhere' }, `${process.execPath} ${bin}`],
  ])('the program names a command that works %s', (_where, start, expected) => {
    const { status, stderr } = runStarted(start, 'secret', 'remove', 'NONE');
    expect(status, stderr).toBe(1);
    const [, hint = ''] = /^hint: (.*) prints the names\.$/m.exec(stderr) ?? [];
    expect(hint).toBe(`${expected} secret list`);
    const list = run('/bin/sh', ['-c', hint], start);
    expect(list).toEqual(runStarted(start, 'secret', 'list'));
    expect(list.status, list.stderr).toBe(0);
  });

  it('--help shows the usage and the examples as they work', () => {
    const { stdout } = runStarted({ words: fromClone, cwd: clone }, 'secret', '--help');
    expect(stdout).toMatch(/^Usage: npx hermetic secret /);
    expect(stdout).toMatch(/^ {2}npx hermetic secret set GITHUB_TOKEN /m);
    expect(runStarted({ words: fromClone, cwd: clone }, '--help').stdout).toMatch(/^ {2}npx hermetic run -- /m);
  });

  it('a start in a directory that was removed names a command that works from anywhere', () => {
    const gone = directory('gone');
    const script = `rmdir ${gone} && exec ${fromClone.join(' ')} secret remove NONE`;
    expect(run('/bin/sh', ['-c', script], { cwd: gone }).stderr).toContain(`hint: node ${fromClone[1]} secret list prints`);
  });
});
