import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const script = join(root, 'scripts', 'build-web.mjs');
/** The page takes nothing else of src: the build in a clone without it would fail. */
const shared = 'src/lib/markdown-tokens.ts';
const clone = mkdtempSync(join(tmpdir(), 'hermetic-clone-'));

beforeAll(() => {
  for (const path of ['web', 'package-lock.json', shared]) cpSync(join(root, path), join(clone, path), { recursive: true });
  writeFileSync(join(clone, 'tsconfig.json'), '{}');
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
});
afterAll(() => rmSync(clone, { recursive: true }));

function ask(expression: string): unknown {
  const text = `import { buildWeb, isWebBuilt } from ${JSON.stringify(script)}; console.log(JSON.stringify(${expression} ?? null));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text, clone], { encoding: 'utf8' });
  return stdout === '' ? stderr : JSON.parse(stdout);
}

it('builds the page when it is missing, or its sources have changed', () => {
  expect(ask('isWebBuilt(process.argv[1])')).toBe(false);
  expect(ask('buildWeb(process.argv[1])')).toBe(null);
  expect(ask('isWebBuilt(process.argv[1])')).toBe(true);
  writeFileSync(join(clone, 'web/src/style.css'), 'body { color: red }');
  expect(ask('isWebBuilt(process.argv[1])')).toBe(false);
  expect(ask('buildWeb(process.argv[1])')).toBe(null);
  expect(ask('isWebBuilt(process.argv[1])')).toBe(true);
  appendFileSync(join(clone, shared), '// changed');
  expect(ask('isWebBuilt(process.argv[1])')).toBe(false);
  rmSync(join(clone, 'dist-web'), { recursive: true });
  expect(ask('isWebBuilt(process.argv[1])')).toBe(false);
});

it('a failed build reports its error and leaves nothing that passes for built', () => {
  writeFileSync(join(clone, 'web/src/main.tsx'), 'this is no program');
  expect(ask('buildWeb(process.argv[1])')).toBe('vite ended with 1');
  expect(ask('isWebBuilt(process.argv[1])')).toBe(false);
});
