import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { installationId } from '../../src/config/installation.ts';
import { errorOf, makeScratch } from './scratch.ts';

const run = promisify(execFile);
const module = join(import.meta.dirname, '../../src/config/installation.ts');
const script = `import { installationId } from ${JSON.stringify(module)}; console.log(installationId(process.argv[1]));`;

/** The id as another process finds it. Files of a process with the limit cannot grow, as on a full disk. */
async function idElsewhere(home: string, isFull = false): Promise<string> {
  const line = `${isFull ? 'ulimit -f 0; ' : ''}exec "$@"`;
  const { stdout } = await run('bash', ['-c', line, '-', process.execPath, '--input-type=module', '-e', script, home]);
  return stdout.trim();
}

it('makes one installation id for several simultaneous processes', async () => {
  const home = makeScratch();
  const ids = await Promise.all(Array.from({ length: 6 }, () => idElsewhere(home)));
  expect(new Set([...ids, installationId(home)]).size).toBe(1);
  expect(readdirSync(home)).toEqual(['installation']);
});

it('leaves no installation file on a full disk, and makes it when there is room again', async () => {
  const home = makeScratch();
  await expect(idElsewhere(home, true)).rejects.toThrow(/installation cannot be written \(EFBIG\)/);
  expect(readdirSync(home)).toEqual([]);
  expect(installationId(home)).toMatch(/^[0-9a-f]{16}$/);
});

it('reports an installation id that cannot be written', () => {
  expect(errorOf(() => installationId('/proc'))).toMatchObject({
    code: 'config/unreadable',
    message: expect.stringMatching(/^\/proc\/installation cannot be written \(/),
    hint: expect.stringContaining('HERMETIC_HOME'),
  });
});

it('reports an installation id that cannot be read', () => {
  const home = makeScratch();
  mkdirSync(join(home, 'installation'));
  expect(errorOf(() => installationId(home)).message).toMatch(/installation cannot be read \(EISDIR\)\.$/);
});
