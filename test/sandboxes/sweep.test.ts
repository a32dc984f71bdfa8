import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { pathsIn, removeSandboxDirectory, removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { processName } from '../../src/lib/process-name.ts';
import { missingDirectories } from '../../src/sandboxes/missing-directories.ts';
import { openSandbox } from '../../src/sandboxes/open.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { survey, sweep } from '../../src/sandboxes/sweep.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';

/** The name of a process on another machine, whose first process namespace has the same number as here. */
const elsewhere = '0badcafe-4026531836-1-1-00000000';
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

  it('keeps the files of a session whose record is damaged', async () => {
    const { sandbox, spec } = await open('damaged');
    await sandbox.writeFile('/workspace/file', 'content');
    await sandbox.close();
    writeFileSync(join(spec.directory, 'sandbox.json'), '');
    expect(await sweep(await options())).toEqual([]);
    const { sandbox: again } = await open('damaged');
    expect(await again.readFile('/workspace/file')).toEqual(Buffer.from('content'));
    await again.destroy();
  });

  it.each([
    '{}',
    'null',
    '[]',
    '"x"',
    '{"name":"other","session":"s","createdAt":"long ago"}',
    '{"name":"other","createdAt":"2026-01-01T00:00:00.000Z"}',
  ])('keeps the files of a session whose record says %s, also when a person prunes what is not known', async (content) => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('damaged in another way');
    await sandbox.writeFile('/workspace/file', 'content');
    await sandbox.close();
    writeFileSync(pathsIn(spec.directory).record, content);
    expect(await sweep({ ...(await options()), removesUnknown: true })).toEqual([]);
    const { sandbox: again } = await open('damaged in another way');
    expect(await again.readFile('/workspace/file')).toEqual(Buffer.from('content'));
    await again.close();
    const key = { backend: 'bubblewrap', name: spec.name };
    await sandboxes.forget(key);
    expect(await sweep(await options())).toEqual([]);
    expect((await sweep({ ...(await options()), removesUnknown: true })).map(({ name }) => name)).toEqual([spec.name]);
    expect(existsSync(spec.directory)).toBe(false);
  });

  it('keeps the files of a session under the name of their directory, whatever name the record says', async () => {
    const { sandbox, spec } = await open('named');
    await sandbox.close();
    const { record } = pathsIn(spec.directory);
    writeFileSync(record, readFileSync(record, 'utf8').replace(spec.name, 'other'));
    expect(await sweep({ ...(await options()), removesUnknown: true })).toEqual([]);
    await (await open('named')).sandbox.destroy();
  });

  it('keeps the files of a session whose record was lost, and of no known session where the record cannot be read', async () => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('lost record');
    await sandbox.writeFile('/workspace/file', 'content');
    await sandbox.close();
    const { record } = pathsIn(spec.directory);
    rmSync(record);
    expect(await sweep({ ...(await options()), removesUnknown: true })).toEqual([]);
    const stopped = AbortSignal.abort(new Error('a person stopped it'));
    await expect(app.openSandbox({ ...cliSession('lost record'), backend: 'bubblewrap' }, quiet, stopped)).rejects.toThrow();
    const { sandbox: again } = await open('lost record');
    expect(await again.readFile('/workspace/file')).toEqual(Buffer.from('content'));
    await again.close();
    rmSync(record);
    symlinkSync(record, record);
    await sandboxes.forget({ backend: 'bubblewrap', name: spec.name });
    expect(await sweep(await options())).toEqual([]);
    expect(existsSync(join(spec.directory, 'workspace', 'file'))).toBe(true);
    await sweep({ ...(await options()), removesUnknown: true });
    expect(existsSync(spec.directory)).toBe(false);
  });

  it('sweeps what is left of a sandbox whose program died while it removed the directory, and forgets its entry', async () => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('half removed');
    await sandbox.close();
    // It dies as soon as it begins to remove files.
    await expect(removeSandboxDirectory(spec.directory, () => Promise.reject(new Error('it died')))).rejects.toThrow('it died');
    expect(readdirSync(place).filter((name) => name.startsWith(spec.name))).toHaveLength(1);
    expect((await sweep(await options())).map(({ why }) => why)).toEqual(['belongs to no session']);
    expect(readdirSync(place).filter((name) => name.startsWith(spec.name))).toEqual([]);
    expect(await sandboxes.find({ backend: 'bubblewrap', name: spec.name })).toBeUndefined();
  });

  it('sweeps a directory that the first opening of a session left without a record, and forgets an opening that made nothing', async () => {
    const { sandboxes } = await app.store();
    const begin = async (name: string) => {
      const owner = processName(spawnSync(process.execPath, ['-e', '']).pid);
      const directory = join(place, name);
      const entry = { backend: 'bubblewrap', name, directory, session: ['cli', name], image: undefined, specHash: '', persistent: true };
      await sandboxes.begin({ ...entry, createdAt: new Date(), owner, leaseMs: 60_000 });
      return directory;
    };
    const warnings = async () => {
      renameSync(place, `${place}-unmounted`);
      const found = await missingDirectories(sandboxes, dirname(place));
      renameSync(`${place}-unmounted`, place);
      return found;
    };
    const before = await warnings();
    const [half] = [await begin('begun-and-made'), await begin('begun-only')];
    mkdirSync(join(half, 'workspace'), { recursive: true });
    expect(await warnings()).toEqual(before);
    const begun = async () => (await sandboxes.list()).filter(({ name }) => name.startsWith('begun')).length;
    expect(await begun()).toBe(2);
    await sweep(await options());
    expect([existsSync(half), await begun()]).toEqual([false, 0]);
  });

  it('forgets the entry of a session whose directory is gone, and keeps all when the directory above is gone too', async () => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('vanished');
    await sandbox.close();
    const key = { backend: 'bubblewrap', name: spec.name };
    renameSync(place, `${place}-unmounted`);
    await sweep(await options());
    expect(await sandboxes.find(key)).toMatchObject({ directory: spec.directory });
    renameSync(`${place}-unmounted`, place);
    await removeTree(spec.directory);
    await sweep(await options());
    expect(await sandboxes.find(key)).toBeUndefined();
  });

  it('sweeps an ephemeral sandbox whose program died, and forgets its entry', async () => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('ephemeral');
    await sandbox.close();
    const key = { backend: 'bubblewrap', name: spec.name };
    const entry = await sandboxes.find(key);
    await sandboxes.forget(key);
    const owner = processName(spawnSync(process.execPath, ['-e', '']).pid);
    await sandboxes.begin({ ...(entry ?? expect.fail()), persistent: false, owner, leaseMs: 60_000 });
    expect((await sweep(await options())).map(({ why }) => why)).toEqual(['was to be gone when it closed']);
    expect(existsSync(spec.directory)).toBe(false);
    expect(await sandboxes.find(key)).toBeUndefined();
  });

  it('sweeps an ephemeral sandbox of a program on another machine when its lease is over, and not before', async () => {
    const { sandboxes } = await app.store();
    const { sandbox, spec } = await open('elsewhere');
    await sandbox.close();
    const key = { backend: 'bubblewrap', name: spec.name };
    const entry = await sandboxes.find(key);
    await sandboxes.forget(key);
    const lease = { owner: elsewhere, leaseMs: 60_000 };
    await sandboxes.begin({ ...(entry ?? expect.fail()), persistent: false, ...lease });
    expect(await sweep(await options())).toEqual([]);
    await sandboxes.opened(key, { specHash: 'any', ...lease });
    expect(await sweep(await options())).toEqual([]);
    expect(existsSync(spec.directory)).toBe(true);
    expect(await sandboxes.find(key)).toMatchObject({ state: 'open', owner: elsewhere });
    await sandboxes.forget(key);
    await sandboxes.begin({ ...(entry ?? expect.fail()), persistent: false, owner: elsewhere, leaseMs: 1 });
    await until('its lease is over', async () => (await sandboxes.find(key))?.leaseUntil === undefined);
    expect((await sweep(await options())).map(({ why }) => why)).toEqual(['was to be gone when it closed']);
    expect(existsSync(spec.directory)).toBe(false);
  });

  it('renews the lease of a sandbox that it has open, and of a closed ephemeral one', async () => {
    const { sandboxes } = await app.store();
    const deps = { ...app.deps, leaseMs: 400 };
    const request = { ...cliSession('renewed'), backend: 'bubblewrap', isEphemeral: true };
    const { sandbox, spec } = await openSandbox(deps, request, quiet);
    const key = { backend: 'bubblewrap', name: spec.name };
    const used = async () => (await sandboxes.find(key))?.lastUsedAt ?? expect.fail('it was forgotten');
    const untilRenewed = async () => {
      const before = await used();
      await until('its lease was renewed', async () => (await used()) > before);
    };
    await untilRenewed();
    await sandbox.close();
    await untilRenewed();
    const { sandbox: again } = await openSandbox(deps, request, quiet);
    await untilRenewed();
    await again.destroy();
    expect(await sandboxes.find(key)).toBeUndefined();
  });

  it('ends a sandbox that another program has removed while this one did not run, and says so', async () => {
    const { sandboxes } = await app.store();
    const notices: string[] = [];
    const listener = { ...quiet, notice: (text: string) => notices.push(text) };
    const request = { ...cliSession('removed'), backend: 'bubblewrap' };
    const { sandbox, spec } = await openSandbox({ ...app.deps, leaseMs: 200 }, request, listener);
    const handle = await sandbox.exec({ command: 'sleep 1000' });
    await sandboxes.forget({ backend: 'bubblewrap', name: spec.name });
    expect(await handle.exit).toMatchObject({ kind: 'lost' });
    await expect(sandbox.exec({ command: 'true' })).rejects.toThrow('another program removed it');
    expect(notices.filter((text) => text.includes('another program removed it'))).toHaveLength(1);
    await sandbox.destroy();
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
    expect((await survey(await options(new Date(Date.now() - 3_600_000)))).leftovers).toEqual([]);
    const { leftovers: found } = await survey(await options(new Date(Date.now() + 1000)));
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
