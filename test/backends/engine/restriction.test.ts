import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { EngineAddress } from '../../../src/backends/engine/address.ts';
import type { Engine, EngineInfo } from '../../../src/backends/engine/engine.ts';
import { networkNamespaceOf } from '../../../src/backends/engine/namespace.ts';
import { type Entrant, restrictionObstacle } from '../../../src/backends/engine/restriction.ts';
import { specHash } from '../../../src/backends/engine/spec-hash.ts';
import { quiet } from '../../../src/core/sandbox.ts';
import { egressEnvironment } from '../../../src/egress/environment.ts';
import { backendOf, contextIn } from '../../backends.ts';
import { fakeEngine } from './fake-engine.ts';
import { exampleInput, exampleSpec } from './real-engine.ts';

const directory = mkdtempSync(join(tmpdir(), 'hermetic-restriction-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const socket: EngineAddress = { kind: 'unix', path: '/var/run/docker.sock' };
const root: Entrant = { isRoot: true, mayEnter: true, hasEntrance: true, here: { platform: 'linux', kernel: '6.1.0' } };
const info = {
  OperatingSystem: 'Debian GNU/Linux 12 (bookworm)',
  KernelVersion: '6.1.0',
  DefaultRuntime: 'runc',
  Runtimes: { runc: { path: 'runc' }, runsc: { path: '/usr/bin/runsc' } },
} as unknown as EngineInfo;

describe('whether docker can restrict a network', () => {
  it('can as root with containers of the same kernel', () => {
    expect(restrictionObstacle({ address: socket, info, runtime: undefined }, root)).toBeUndefined();
  });

  it.each<[string, RegExp, Partial<Parameters<typeof restrictionObstacle>[0]>, Partial<Entrant>]>([
    ['as a member of the group docker', /only root.*run Hermetic as root.*bubblewrap/, {}, { isRoot: false }],
    ['as root of a container', /CAP_SYS_ADMIN.*outside/, {}, { mayEnter: false }],
    ['without nsenter', /nsenter is not installed.*util-linux/, {}, { hasEntrance: false }],
    ['with Docker Desktop', /virtual machine/, { info: { ...info, OperatingSystem: 'Docker Desktop' } }, {}],
    ['on macOS', /virtual machine/, {}, { here: { platform: 'darwin', kernel: '24.0' } }],
    ['over a port', /over a port/, { address: { kind: 'tcp', host: '127.0.0.1', port: 2375 } }, {}],
    ['with an engine in a virtual machine', /another kernel/, { info: { ...info, KernelVersion: '6.6' } }, {}],
    ['with gVisor', /runtime runsc.*use runc/, { runtime: 'runsc' }, {}],
  ])('cannot %s, and says what to do', (_, reason, facts, entrant) => {
    expect(restrictionObstacle({ address: socket, info, runtime: undefined, ...facts }, { ...root, ...entrant })).toMatch(reason);
  });

  it('is asked of the engine once in a while', async () => {
    await using fake = await fakeEngine({ 'GET /info': { status: 200, body: info } });
    const backend = dockerAt(`unix://${fake.path}`);
    expect(await backend.canRestrict()).toMatch(/another kernel|virtual machine/);
    await backend.canRestrict();
    expect(fake.calls.filter((call) => call.endsWith('/info'))).toHaveLength(1);
  });

  it('promises nothing weaker while the engine does not answer, and opening fails with its own error', async () => {
    const backend = dockerAt(`unix://${directory}/nowhere.sock`);
    expect(await backend.canRestrict()).toBe(true);
    const spec = exampleSpec({ network: 'restricted', directory: join(directory, 'sandbox') });
    await expect(backend.open(spec, quiet)).rejects.toMatchObject({ code: 'backend/not-running' });
  });

  it('makes no container where it cannot, and leaves nothing', async () => {
    const image = { Id: `sha256:${'0'.repeat(64)}`, Config: {}, RootFS: { Layers: [] } };
    await using fake = await fakeEngine({
      'GET /info': { status: 200, body: info },
      'GET /images/hermetic-test:base/json': { status: 200, body: image },
    });
    const spec = exampleSpec({
      network: 'restricted',
      directory: join(directory, 'refused'),
      limits: { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 },
    });
    await expect(dockerAt(`unix://${fake.path}`).open(spec, quiet)).rejects.toMatchObject({ code: 'backend/cannot-restrict' });
    expect(fake.calls.filter((call) => call.startsWith('POST'))).toEqual([]);
  });

  function dockerAt(host: string) {
    const context = contextIn(directory);
    return backendOf('docker', { ...context, docker: { ...context.docker, docker_host: host } });
  }
});

describe('the label of a restricted container', () => {
  it('changes with the network and with the variables of the proxy', () => {
    const hash = (spec: Parameters<typeof exampleSpec>[0]) => {
      const input = exampleInput({ spec: { ...exampleSpec(spec), name: 'same' } });
      return specHash(input.spec, input);
    };
    const hashes = [
      hash({ network: 'none' }),
      hash({ network: 'open' }),
      hash({ network: 'restricted' }),
      hash({ network: 'restricted', env: egressEnvironment }),
      hash({ network: 'restricted', env: { ...egressEnvironment, http_proxy: 'http://127.0.0.1:1' } }),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('the network namespace of a container', () => {
  const engineWith = (...pids: number[]) => {
    const left = [...pids];
    return { inspect: async () => ({ running: true, pid: left.shift() ?? 0 }) } as unknown as Engine;
  };

  it.each([
    ['this program', process.pid],
    ['another process of the host', 1],
    ['no process that is visible here', 2 ** 22 + 1],
  ])('is not taken from %s', async (_, pid) => {
    const place = { engine: engineWith(pid, pid), id: 'id', runDirectory: directory };
    await expect(networkNamespaceOf(place)).rejects.toMatchObject({
      code: 'sandbox/network-failed',
      hint: expect.stringMatching(/terminal\.network/),
    });
  });

  it('is not taken of a container that does not run', async () => {
    const place = { engine: engineWith(0), id: 'id', runDirectory: directory };
    await expect(networkNamespaceOf(place)).rejects.toThrow('it has ended');
  });
});
