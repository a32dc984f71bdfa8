import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CloudBackend } from '../../src/backends/cloud/backend.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import type { Backend, OpenSandbox, SandboxSpec } from '../../src/core/sandbox.ts';
import type { Store } from '../../src/core/store.ts';
import { openRecorded } from '../../src/sandboxes/record.ts';
import { sweep } from '../../src/sandboxes/sweep.ts';
import { openStore } from '../../src/stores/index.ts';
import { backendOf, contextIn } from '../backends.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { FakeProvider } from '../fakes/cloud/provider.ts';
import { FakeCluster } from '../fakes/kubernetes/cluster.ts';
import { startRelay } from '../relay.ts';
import { specWith } from '../sandbox-spec.ts';

/** One installation whose sandboxes were in one directory and are in another one now. */
interface Moved {
  kind: string;
  /** The same backend with its directories below this one. */
  in(directory: string): Backend;
  spec: Partial<SandboxSpec>;
  /** Everything that a session could miss, by name. */
  things(): Promise<string[]>;
}

const quiet = { notice: () => undefined, progress: () => undefined };

function movedTests({ kind, spec: wishes, things, ...variant }: Moved): void {
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
  const open = (on: Backend, spec: SandboxSpec, isEphemeral = false): Promise<OpenSandbox> => {
    const record = { spec, isEphemeral, parts: ['test', spec.name], fingerprint: 'any', note: () => undefined };
    return openRecorded({ ...record, backend: on, ledger: ledger() }, quiet);
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
    movedTests({
      kind: 'docker',
      in: (sandboxesDirectory) => backendOf('docker', { ...context, sandboxesDirectory }),
      spec: { image: context.docker.image },
      things: () =>
        engine.withEngine(async (found) => {
          const filters = encodeURIComponent(JSON.stringify({ label: [`hermetic.installation=${context.installation}`] }));
          const { Volumes } = await found.request<{ Volumes: { Name: string }[] | null }>('GET', `/volumes?filters=${filters}`);
          const containers = await found.list({ 'hermetic.installation': context.installation });
          return [...(Volumes ?? []).map(({ Name }) => Name), ...containers.map(({ id }) => id)].sort();
        }),
    });
  },
  { title: 'docker by a port', docker: { docker_host: relay.host } },
);

const isRoot = process.getuid?.() === 0;

describe.runIf(isRoot)('a volume claim of a cluster', async () => {
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

describe.runIf(isRoot)('a sandbox of a provider', () => {
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
  });
});
