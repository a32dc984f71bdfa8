import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { type OpenSandbox, quiet } from '../../src/core/sandbox.ts';
import { backendOf, contextIn } from '../backends.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { specWith } from '../sandbox-spec.ts';

const { VERCEL_TOKEN, VERCEL_TEAM_ID, VERCEL_PROJECT_ID, VERCEL_OIDC_TOKEN } = process.env;
const hasCredentials = Boolean(VERCEL_OIDC_TOKEN || (VERCEL_TOKEN && VERCEL_TEAM_ID && VERCEL_PROJECT_ID));

describe.runIf(hasCredentials)('vercel itself', { timeout: 600_000 }, () => {
  const context = contextIn(join(tmpdir(), `hermetic-vercel-${randomBytes(6).toString('hex')}`));
  const environment = { VERCEL_TOKEN, VERCEL_TEAM_ID, VERCEL_PROJECT_ID, VERCEL_OIDC_TOKEN };
  const backend = backendOf('vercel', { ...context, environment });
  const name = `test-${randomBytes(6).toString('hex')}`;
  const spec = specWith({
    name,
    directory: join(context.sandboxesDirectory, 'vercel', name),
    env: { GIVEN: 'yes' },
    limits: { cpus: 1, memoryMb: 0, diskMb: 0, pids: 0 },
    idleSeconds: 120,
  });
  const output = async (sandbox: OpenSandbox, command: string): Promise<string> => (await collect(await sandbox.exec({ command }))).stdout;

  afterAll(async () => {
    for (const remains of await backend.list()) await remains.destroy();
    await removeTree(context.sandboxesDirectory);
  });

  it('works', async () => {
    expect(await backend.check()).toMatchObject({ usable: true });
  });

  it('runs commands, keeps files over a stop, and has no network', async () => {
    const first = await backend.open(spec, quiet);
    expect(await output(first, 'export KEPT=1; echo kept >file; echo "$GIVEN"')).toBe('yes\n');
    expect(await output(first, 'timeout 10 bash -c "exec 3<>/dev/tcp/1.1.1.1/443" 2>/dev/null && echo reached || echo cut')).toBe('cut\n');
    const echo = await first.exec({ command: 'cat; exit 3', stdin: 'open' });
    await echo.write(Buffer.from([0, 255, 10, 200]));
    echo.closeStdin();
    expect(await collect(echo)).toMatchObject({ bytes: Buffer.from([0, 255, 10, 200]), exit: { kind: 'exited', code: 3 } });
    const long = await first.exec({ command: 'sleep 600' });
    await long.kill('KILL');
    expect(await long.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    await first.stop();
    const second = await backend.open(spec, quiet);
    expect(await output(second, 'cat file; echo "$KEPT"')).toBe('kept\n1\n');
    await second.destroy();
    expect(await backend.list()).toEqual([]);
  });
});

it.skipIf(!hasCredentials)(
  'Vercel itself is tried: VERCEL_TOKEN, VERCEL_TEAM_ID and VERCEL_PROJECT_ID, or VERCEL_OIDC_TOKEN, are set',
  () => {
    expect(hasCredentials).toBe(true);
  },
);
