import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { plantCanary, sweepCanaries } from '../../src/proof/canary.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';

const canariesIn = (directory: string): string[] =>
  (existsSync(directory) ? readdirSync(directory) : []).filter((name) => name.startsWith('hermetic-proof-'));

await describeBackend('bubblewrap', () => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap', TERMINAL_NETWORK: 'none' });
  const temporary = mkdtempSync(join(tmpdir(), 'hermetic-canaries-'));
  const environment = { TMPDIR: temporary };
  const home = hermetic.environment.HERMETIC_HOME ?? '';
  const left = (): string[] => [...canariesIn(temporary), ...canariesIn(home)];
  afterEach(() => vi.unstubAllEnvs());
  afterAll(async () => {
    await removeTree(hermetic.home);
    await removeTree(temporary);
  });

  /** Kills a program while it proves sandboxes of settings that nobody has proven. */
  async function killWhileProving(pids: number): Promise<void> {
    for (let attempt = 0; attempt < 5; attempt++) {
      const child = hermetic.start(['run', '--', 'true'], { ...environment, TERMINAL_CONTAINER_PIDS: String(pids + attempt) });
      const ended = once(child, 'exit');
      const areOut = (): boolean => canariesIn(temporary).length > 0 && canariesIn(home).length > 0;
      await until('both canaries are out', () => areOut() || child.exitCode !== null, { everyMs: 1 });
      child.kill('SIGKILL');
      await ended;
      // Otherwise it was done before it was killed.
      if (left().length >= 2) return;
    }
    expect.fail('it leaves nothing when it is killed');
  }

  it('removes canaries of a program killed during a proof with the next proof', async () => {
    await killWhileProving(100);
    const { code, stderr } = await hermetic.run(['run', '--', 'true'], { environment });
    expect([code, stderr]).toEqual([0, expect.anything()]);
    expect(left()).toEqual([]);
  });

  it('removes canaries of a program killed during a proof with the next start of a gateway', async () => {
    await killWhileProving(110);
    vi.stubEnv('TMPDIR', temporary);
    const app = createApp({ environment: hermetic.environment });
    await app.sandboxes.start();
    expect(left()).toEqual([]);
    await app.close();
  });
});

it('keeps canaries in use, other files, and canaries of another process namespace', async () => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-canaries-'));
  const canary = await plantCanary(home);
  const others = {
    elsewhere: 'hermetic-proof-1-999999-1-abcd',
    named: 'hermetic-proof-notes',
    earlier: `hermetic-proof-${'a'.repeat(32)}`,
  };
  for (const name of Object.values(others)) writeFileSync(join(home, name), '');
  const dead = basename(canary.path).replace(/-\d+-\d+-(?=[0-9a-f]+$)/, '-999999999-1-');
  mkdirSync(join(home, dead));
  symlinkSync(canary.path, join(home, `${dead}0`));
  writeFileSync(join(home, `${dead}1`), '');
  const before = readdirSync(home);
  await sweepCanaries(home);
  expect(readdirSync(home)).toEqual(before.filter((name) => name !== `${dead}1`));
  for (const name of Object.values(others)) utimesSync(join(home, name), 1, 1);
  await sweepCanaries(home);
  expect(readdirSync(home).sort()).toEqual([basename(canary.path), dead, `${dead}0`, others.named].sort());
  await canary.remove();
  await removeTree(home);
});
