import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { findLeftovers, sweep } from '../../src/sandboxes/sweep.ts';
import { describeBackend } from '../engines.ts';

const quiet = { notice: () => undefined, progress: () => undefined };

await describeBackend('bubblewrap', () => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-sweep-'));
  const app = createApp({ environment: { HOME: home, HERMETIC_HOME: join(home, '.hermetic') } });
  const place = join(home, '.hermetic', 'sandboxes', 'bubblewrap');
  const options = async (unusedSince?: Date) => ({
    backends: app.candidates('bubblewrap'),
    ledger: (await app.store()).sandboxes,
    unusedSince,
  });
  const open = (session: string) => app.openSandbox({ ...cliSession(session), backend: 'bubblewrap' }, quiet);
  afterAll(async () => {
    await app.close();
    await removeTree(home);
  });

  it('never sweeps open sandboxes or the files of sessions', async () => {
    const { sandbox: kept } = await open('kept');
    await kept.writeFile('/workspace/file', 'content');
    await kept.close();
    const { sandbox: busy } = await open('busy');
    expect(await sweep(await options())).toEqual([]);
    const handle = await busy.exec({ command: 'true' });
    expect(await handle.exit).toEqual({ kind: 'exited', code: 0 });
    const { sandbox: again } = await open('kept');
    expect(await again.readFile('/workspace/file')).toEqual(Buffer.from('content'));
    await again.close();
    await busy.close();
  });

  it('sweeps a directory whose program died while it was made or removed', async () => {
    const half = join(place, 'half-made');
    mkdirSync(join(half, 'workspace'), { recursive: true });
    writeFileSync(join(half, 'workspace', 'rest'), 'of something');
    expect((await sweep(await options())).map(({ why }) => why)).toEqual(['belongs to no session']);
    expect(existsSync(half)).toBe(false);
  });

  it('sweeps an ephemeral sandbox whose program died, and forgets its entry', async () => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('ephemeral');
    await sandbox.close();
    const key = { backend: 'bubblewrap', name: spec.name };
    const entry = await sandboxes.find(key);
    await sandboxes.forget(key);
    const leaseUntil = new Date(Date.now() + 60_000);
    await sandboxes.begin({ ...(entry ?? expect.fail()), persistent: false, owner: '1-1-00', leaseUntil });
    expect((await sweep(await options())).map(({ why }) => why)).toEqual(['was to be gone when it closed']);
    expect(existsSync(spec.directory)).toBe(false);
    expect(await sandboxes.find(key)).toBeUndefined();
  });

  it('keeps a closed ephemeral sandbox while its program lives', async () => {
    const request = { ...cliSession('passing'), backend: 'bubblewrap', isEphemeral: true };
    const { sandbox } = await app.openSandbox(request, quiet);
    await sandbox.writeFile('/workspace/file', 'content');
    await sandbox.close();
    expect(await sweep(await options())).toEqual([]);
    const { sandbox: again } = await app.openSandbox(request, quiet);
    expect(await again.readFile('/workspace/file')).toEqual(Buffer.from('content'));
    await again.destroy();
  });

  it('finds unused sandboxes by age', async () => {
    const { sandbox, spec } = await open('old');
    await sandbox.close();
    expect(await findLeftovers(await options(new Date(Date.now() - 3_600_000)))).toEqual([]);
    const found = await findLeftovers(await options(new Date(Date.now() + 1000)));
    expect(found.map(({ name }) => name)).toContain(spec.name);
  });

  it('removes nothing when a backend does not answer', async () => {
    const half = join(place, 'half-made-again');
    mkdirSync(half, { recursive: true });
    const [backend] = app.candidates('bubblewrap');
    const unsure = { ...(backend ?? expect.fail()), kind: 'unsure', list: () => Promise.reject(new Error('no answer')) };
    const both = { ...(await options()), backends: [...app.candidates('bubblewrap'), unsure as never] };
    await expect(sweep(both)).rejects.toThrow('no answer');
    expect(existsSync(half)).toBe(true);
  });
});
