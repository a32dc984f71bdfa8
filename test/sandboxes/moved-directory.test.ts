import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CloudBackend } from '../../src/backends/cloud/backend.ts';
import { pathsIn, removeTree } from '../../src/backends/sandbox-directory.ts';
import type { Backend, OpenSandbox, SandboxSpec } from '../../src/core/sandbox.ts';
import type { Store } from '../../src/core/store.ts';
import { missingDirectories } from '../../src/sandboxes/missing-directories.ts';
import { openRecorded } from '../../src/sandboxes/record.ts';
import { sweep } from '../../src/sandboxes/sweep.ts';
import { openStore } from '../../src/stores/index.ts';
import { backendOf, contextIn } from '../backends.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { FakeProvider } from '../fakes/cloud/provider.ts';
import { FakeCluster } from '../fakes/kubernetes/cluster.ts';
import { describeNeeding } from '../needs.ts';
import { startRelay } from '../relay.ts';
import { specWith } from '../sandbox-spec.ts';
import { startSshd } from '../sshd.ts';

/** One installation whose sandboxes were in one directory and are in another one now. */
interface Moved {
  kind: string;
  /** The same backend with its directories below this one. */
  in(directory: string): Backend;
  spec: Partial<SandboxSpec>;
  /** Everything that a session could miss, by name. */
  things(): Promise<string[]>;
  /** Of those, what has its files. Default: all. */
  files?(): Promise<string[]>;
  /** Each directory has a sandbox of its own at a provider, and so files of its own. */
  hasOwnFiles?: boolean;
}

const quiet = { notice: () => undefined, progress: () => undefined };

function movedTests({ kind, spec: wishes, things, files = things, hasOwnFiles = false, ...variant }: Moved): void {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-moved-'));
  const [before, after] = [join(home, 'before'), join(home, 'after')];
  const [former, backend] = [variant.in(before), variant.in(after)];
  let store: Store | undefined;
  const ledger = async () => {
    store ??= await openStore(join(home, 'state.db'));
    return store.sandboxes;
  };
  const specIn = (place: string, name = `test-${randomBytes(6).toString('hex')}`) =>
    specWith({ ...wishes, name, directory: join(place, kind, name), network: undefined });
  const open = (on: Backend, spec: SandboxSpec, isEphemeral = false, signal?: AbortSignal): Promise<OpenSandbox> => {
    const record = { spec, isEphemeral, parts: ['test', spec.name], fingerprint: 'any', note: () => undefined };
    return openRecorded({ ...record, backend: on, ledger: ledger() }, quiet, signal);
  };
  /** The session of a person who was here before the directory moved. */
  const sleepingSession = async (): Promise<SandboxSpec> => {
    const spec = specIn(before);
    const sandbox = await open(former, spec);
    await sandbox.writeFile('file', 'precious');
    await sandbox.stop();
    return spec;
  };
  const sweepHere = async (more: object = {}) => await sweep({ backends: [backend], ledger: await ledger(), ...more });
  /** Neither the backend nor a sweep removes anything of them in either place. */
  const expectAllThere = async (there: string[]): Promise<void> => {
    for (const one of [former, backend]) expect(await sweep({ backends: [one], ledger: await ledger() })).toEqual([]);
    expect(await files()).toEqual(expect.arrayContaining(there));
  };
  const contentOf = async (sandbox: OpenSandbox) => (await sandbox.readFile('file')).toString();
  const entryOf = async ({ name }: SandboxSpec) => (await ledger()).find({ backend: kind, name });

  afterAll(async () => {
    for (const one of [former, backend]) for (const left of await one.list()) await left.destroy();
    await store?.close();
    await removeTree(home);
  });

  it('keeps everything of a sleeping session, which has its files when the directory is back', async () => {
    const spec = await sleepingSession();
    const there = await things();
    expect(there.length).toBeGreaterThan(0);
    expect(await sweepHere()).toEqual([]);
    // A sandbox in the new place: from now on the backend is asked what else there is.
    await (await open(backend, specIn(after))).destroy();
    expect(await sweepHere()).toEqual([]);
    expect(await things()).toEqual(there);
    expect(await entryOf(spec)).toMatchObject({ state: 'closed', directory: spec.directory });
    const again = await open(former, spec);
    expect(await again.readFile('file')).toEqual(Buffer.from('precious'));
    await again.destroy();
    expect(await entryOf(spec)).toBeUndefined();
    expect(await things()).toEqual([]);
  });

  it('keeps everything of a session whose directory was lost', async () => {
    const spec = await sleepingSession();
    const there = await things();
    await removeTree(spec.directory);
    await (await open(backend, specIn(after))).destroy();
    expect(await sweepHere()).toEqual([]);
    expect(await sweep({ backends: [former], ledger: await ledger() })).toEqual([]);
    expect(await things()).toEqual(there);
    await sweepHere({ unusedSince: new Date(Date.now() + 1000) });
    expect(await things()).toEqual([]);
    expect(await entryOf(spec)).toBeUndefined();
  });

  it('keeps files whose session is not known until a person says otherwise', async () => {
    const spec = await sleepingSession();
    const there = await things();
    await (await ledger()).forget({ backend: kind, name: spec.name });
    await (await open(backend, specIn(after))).destroy();
    expect(await sweepHere()).toEqual([]);
    expect(await sweepHere({ unusedSince: new Date(Date.now() + 1000) })).toEqual([]);
    expect(await things()).toEqual(there);
    expect((await sweepHere({ removesUnknown: true })).map(({ name }) => name)).toEqual([spec.name]);
    expect(await things()).toEqual([]);
    await removeTree(spec.directory);
  });

  it('keeps everything when the session opens in the new place, and when the directory is set back after that', async () => {
    const spec = await sleepingSession();
    const moved = specIn(after, spec.name);
    const there = await files();
    const sandbox = await open(backend, moved);
    await sandbox.writeFile('file', 'meanwhile');
    await sandbox.stop();
    expect(await entryOf(spec)).toMatchObject({ state: 'closed', directory: moved.directory });
    const meanwhile = await files();
    expect(meanwhile).toEqual(expect.arrayContaining(there));
    await expectAllThere(meanwhile);
    const back = await open(former, spec);
    expect(await contentOf(back)).toBe(hasOwnFiles ? 'precious' : 'meanwhile');
    await back.stop();
    await expectAllThere(meanwhile);
    const again = await open(backend, moved);
    expect(await contentOf(again)).toBe('meanwhile');
    await again.destroy();
    expect(await things()).toEqual([]);
    await removeTree(spec.directory);
  });

  it.each([
    ['fails', { env: { PATH: '/nowhere' } }, undefined],
    ['is stopped', {}, AbortSignal.abort(new Error('a person stopped it'))],
  ])('keeps everything when opening the session in the new place %s, and warns on', async (_, breaks, signal) => {
    const spec = await sleepingSession();
    const moved = specIn(after, spec.name);
    const there = await files();
    await expect(open(backend, { ...moved, ...breaks }, false, signal)).rejects.toThrow();
    expect(await entryOf(spec)).toMatchObject({ state: 'closed', directory: spec.directory });
    expect(existsSync(moved.directory)).toBe(false);
    expect(await missingDirectories(await ledger(), after)).toMatchObject([expect.stringContaining(`in ${before}, and`)]);
    expect(await files()).toEqual(there);
    await expectAllThere(there);
    const back = await open(former, spec);
    expect(await contentOf(back)).toBe('precious');
    await back.destroy();
    expect(await things()).toEqual([]);
  });

  it('keeps everything of a session that has a directory without a record in the new place, and lost its record in the former', async () => {
    const spec = await sleepingSession();
    const there = await files();
    mkdirSync(specIn(after, spec.name).directory, { recursive: true });
    await expectAllThere(there);
    rmSync(pathsIn(spec.directory).record);
    await expectAllThere(there);
    const again = await open(former, spec);
    if (!hasOwnFiles) expect(await contentOf(again)).toBe('precious');
    await again.destroy();
    await sweepHere();
    expect([await things(), existsSync(specIn(after, spec.name).directory)]).toEqual([[], false]);
  });

  it('removes a directory without a record alone where the session is not known either', async () => {
    const spec = await sleepingSession();
    const there = await files();
    const { directory } = specIn(after, spec.name);
    mkdirSync(directory, { recursive: true });
    await (await ledger()).forget({ backend: kind, name: spec.name });
    expect((await sweepHere()).map((one) => one.directory)).toEqual([directory]);
    expect([existsSync(directory), await files()]).toEqual([false, there]);
    mkdirSync(directory, { recursive: true });
    await sweepHere({ removesUnknown: true });
    expect([existsSync(directory), await things()]).toEqual([false, []]);
    await removeTree(spec.directory);
  });

  it('removes an ephemeral sandbox whose record was lost with all that it left', async () => {
    const spec = specIn(after);
    await (await open(backend, spec, true)).stop();
    rmSync(pathsIn(spec.directory).record);
    await (await ledger()).closed({ backend: kind, name: spec.name }, new Date());
    await sweepHere();
    expect([existsSync(spec.directory), await entryOf(spec), await things()]).toEqual([false, undefined, []]);
  });

  it('removes what an ephemeral sandbox left elsewhere', async () => {
    const spec = { ...specIn(before), idleSeconds: 5 };
    const sandbox = await open(former, spec, true);
    await sandbox.stop();
    const key = { backend: kind, name: spec.name };
    const entry = await entryOf(spec);
    // Its program has died, and its lease is over.
    await (await ledger()).closed(key, new Date(), entry?.owner);
    await (await open(backend, specIn(after))).destroy();
    expect((await sweepHere()).map(({ name }) => name)).toEqual([spec.name]);
    expect(await things()).toEqual([]);
    await removeTree(spec.directory);
  });
}

const relay = await startRelay('/var/run/docker.sock');
afterAll(() => relay.close());

await describeBackend(
  'docker',
  (engine: TestEngine) => {
    const { context } = engine;
    const labels = { 'hermetic.installation': context.installation };
    movedTests({
      kind: 'docker',
      in: (sandboxesDirectory) => backendOf('docker', { ...context, sandboxesDirectory }),
      spec: { image: context.docker.image },
      things: () =>
        engine.withEngine(async (found) => {
          const [volumes, containers] = await Promise.all([found.volumes(labels), found.list(labels)]);
          return [...volumes.map(({ name }) => name), ...containers.map(({ id }) => id)].sort();
        }),
      files: () => engine.withEngine(async (found) => (await found.volumes(labels)).map(({ name }) => name).sort()),
    });
  },
  { title: 'docker by a port', docker: { docker_host: relay.host } },
);

describeNeeding(['sshd'], 'a machine that is reached by ssh', async () => {
  const sshd = await startSshd();
  afterAll(() => sshd.remove());

  await describeBackend(
    'ssh',
    ({ context }) =>
      movedTests({
        kind: 'ssh',
        in: (sandboxesDirectory) => backendOf('ssh', { ...context, sandboxesDirectory }),
        spec: {},
        things: async () =>
          execFileSync('find', [sshd.home, '-name', 'workspace'], { encoding: 'utf8' }).split('\n').filter(Boolean).sort(),
      }),
    { title: 'a directory there', options: sshd.options },
  );
});

describeNeeding(['machines', 'openssl'], 'a volume claim of a cluster', async () => {
  const cluster = await FakeCluster.start();
  const context = contextIn('');
  afterAll(() => cluster.close());
  movedTests({
    kind: 'kubernetes',
    in: (sandboxesDirectory) => {
      const options = { kubernetes_kubeconfig: cluster.kubeconfig(), kubernetes_storage: 'claim' };
      return backendOf('kubernetes', { ...context, sandboxesDirectory, options });
    },
    spec: { image: 'test:image', limits: { cpus: 0, memoryMb: 512, diskMb: 0, pids: 0 } },
    things: async () => [...cluster.claims.all(), ...cluster.pods.all()].map(({ metadata }) => metadata.uid).sort(),
  });
});

describeNeeding(['machines'], 'a sandbox of a provider', () => {
  const provider = new FakeProvider({ saves: false });
  const context = contextIn('');
  const unlimited = { enforced: true, how: 'by the provider' };
  afterAll(() => provider.close());
  movedTests({
    kind: 'fake',
    in: (sandboxesDirectory) =>
      new CloudBackend(
        { ...context, sandboxesDirectory },
        {
          kind: 'fake',
          product: 'The provider',
          image: 'any',
          settings: [],
          provider,
          enforcement: { cpus: unlimited, memoryMb: unlimited, diskMb: unlimited, pids: unlimited },
          installing: '',
          honours: { image: true, 'network-none': true },
        },
      ),
    spec: { image: 'any' },
    things: async () => [...provider.entries.keys()].sort(),
    hasOwnFiles: true,
  });
});
