import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = dirname(import.meta.dirname);
const scratch = mkdtempSync(join(tmpdir(), 'hermetic-package-'));
const installed = join(scratch, 'elsewhere', 'node_modules', 'hermetic');
const environment = { PATH: process.env.PATH ?? '', HOME: scratch };

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function run(program: string, args: readonly string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env: environment });
  return { status, stdout, stderr };
}

/** Packs a copy, because packing builds, and other tests use what is built in the clone. */
function pack(): string {
  const copy = join(scratch, 'copy');
  const left = ['node_modules', '.git', 'dist', 'dist-web'];
  cpSync(root, copy, { recursive: true, filter: (path) => !left.includes(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const { status, stderr } = run('npm', ['pack', '--pack-destination', scratch, '--loglevel=error'], copy);
  expect(status, stderr).toBe(0);
  const name = readdirSync(scratch).find((one) => one.endsWith('.tgz'));
  if (name === undefined) throw new Error('npm packed nothing');
  return join(scratch, name);
}

/** What npm would install beside the package: everything the lock file does not call a development dependency. */
function installDependencies(): void {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
  };
  for (const [path, { dev, devOptional }] of Object.entries(packages)) {
    const isTop = path !== '' && !path.slice('node_modules/'.length).includes('node_modules/');
    if (!isTop || dev || devOptional || !existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(scratch, 'elsewhere', path)), { recursive: true });
    symlinkSync(join(root, path), join(scratch, 'elsewhere', path));
  }
}

describe('the packed package, installed elsewhere', () => {
  beforeAll(() => {
    const archive = pack();
    mkdirSync(installed, { recursive: true });
    expect(run('tar', ['-xzf', archive, '--strip-components=1', '-C', installed], scratch)).toMatchObject({ status: 0 });
    installDependencies();
  }, 300_000);

  it('the installed package loads every module with nothing but its dependencies', () => {
    const modules = globSync('dist/**/*.js', { cwd: installed }).sort();
    expect(modules.length).toBeGreaterThan(300);
    const script = `const failures = [];
for (const path of ${JSON.stringify(modules)}) {
  await import(new URL(path, ${JSON.stringify(`file://${installed}/`)}).href).catch((error) => failures.push(path + ': ' + error.message));
}
console.log(JSON.stringify(failures));`;
    const { status, stdout, stderr } = run(process.execPath, ['--input-type=module', '--eval', script], installed);
    expect(status, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual([]);
  }, 120_000);

  it.each([
    ['--version', /^\d+\.\d+\.\d+\n$/],
    ['--help', /hermetic[\s\S]*start[\s\S]*chat/],
  ])(
    'the installed package starts with %s',
    (option, expected) => {
      const { status, stdout, stderr } = run(process.execPath, [join(installed, 'bin', 'hermetic.mjs'), option], scratch);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(expected);
    },
    60_000,
  );

  it('the installed package is a library with types, and contains the guest programs and the page', () => {
    const script = "console.log(Object.keys(await import('hermetic')).length > 0)";
    expect(run(process.execPath, ['--input-type=module', '--eval', script], join(scratch, 'elsewhere'))).toMatchObject({
      stdout: 'true\n',
    });
    const needed = ['dist/index.d.ts', 'guest/forker.bash', 'dist-web/index.html', 'README.md', 'LICENSE'];
    expect(needed.filter((path) => !existsSync(join(installed, path)))).toEqual([]);
  });
});
