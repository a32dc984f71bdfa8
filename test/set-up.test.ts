import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const root = join(import.meta.dirname, '..');
const setUp = join(root, 'scripts/set-up.mjs');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { version, sha256 } = JSON.parse(read('scripts/pinned-node.json')) as { version: string; sha256: Record<string, string> };
const isRecorded = sha256[`${process.platform}-${process.arch}`] !== undefined;

/** Runs a script that imports the set-up; `say` prints. */
function run(script: string, ...args: string[]) {
  const source = `import { checkPinnedNode, setUp } from ${JSON.stringify(setUp)}; const say = (line) => console.log(line); ${script}`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', source, ...args], { encoding: 'utf8' });
}

/** A clone whose pinned Node is a script that says the right version, and leaves a trace when it is run. */
function cloneWithOtherNode(): { clone: string; binary: string; trace: string } {
  const clone = mkdtempSync(join(tmpdir(), 'hermetic-set-up-'));
  onTestFinished(() => rmSync(clone, { recursive: true }));
  const packages = { '': {}, 'node_modules/node': { version } };
  writeFileSync(join(clone, 'package-lock.json'), JSON.stringify({ packages }));
  for (const directory of ['node_modules/.bin', 'node_modules/node/bin']) mkdirSync(join(clone, directory), { recursive: true });
  writeFileSync(join(clone, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
  const binary = join(clone, 'node_modules/node/bin/node');
  const trace = join(clone, 'trace');
  writeFileSync(binary, `#!/bin/sh\necho run >>${trace}\necho v${version}\n`);
  chmodSync(binary, 0o755);
  symlinkSync('../node/bin/node', join(clone, 'node_modules/.bin/node'));
  return { clone, binary, trace };
}

it('records the hashes of the Node that package.json pins', () => {
  expect(version).toBe(JSON.parse(read('package.json')).devDependencies.node);
  expect(Object.keys(sha256)).toContain('linux-x64');
  for (const hash of Object.values(sha256)) expect(hash).toMatch(/^[0-9a-f]{64}$/);
});

it.runIf(isRecorded)('the Node binary of this clone has the recorded hash', () => {
  const binary = join(root, 'node_modules/node/bin/node');
  const { status, stdout, stderr } = run(`checkPinnedNode(process.argv[1], ${JSON.stringify(version)}, say)`, binary);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

it.runIf(isRecorded)('never runs a pinned Node with another hash, keeps it for inspection, and says what to do', () => {
  const { clone, binary, trace } = cloneWithOtherNode();
  const before = readFileSync(binary);
  const { status, stdout } = run("await setUp(process.argv[1], say).catch(({ message }) => say('refused: ' + message))", clone);
  expect(status).toBe(0);
  expect(existsSync(trace)).toBe(false);
  expect(stdout).toMatch(/^refused: The binary of Node /);
  expect(stdout).toContain(createHash('sha256').update(before).digest('hex'));
  expect(stdout).toContain(`was moved to ${binary}.refused`);
  expect(stdout).toContain('Remove node_modules and start again');
  // Nothing on the PATH of npm finds it either.
  expect(existsSync(join(clone, 'node_modules/.bin/node'))).toBe(false);
  expect(readFileSync(`${binary}.refused`)).toEqual(before);
});

it('reports a platform whose hash is not recorded', () => {
  const { binary } = cloneWithOtherNode();
  const { status, stdout } = run(`checkPinnedNode(process.argv[1], ${JSON.stringify(version)}, say, 'plan9-mips')`, binary);
  expect(status).toBe(0);
  expect(stdout).toBe(`No hash of Node ${version} is recorded for plan9-mips: its binary is used unchecked (see SECURITY.md).\n`);
  expect(existsSync(binary)).toBe(true);
});

it('refuses a version whose hashes are not recorded', () => {
  const { binary } = cloneWithOtherNode();
  const { stdout } = run("try { checkPinnedNode(process.argv[1], '99.0.0', say) } catch ({ message }) { say(message) }", binary);
  expect(stdout).toContain('not of 99.0.0');
});
