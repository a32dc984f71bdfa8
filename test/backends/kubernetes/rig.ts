import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { removeTree } from '../../../src/backends/sandbox-directory.ts';
import type { Backend, OpenSandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import { backendOf, contextIn } from '../../backends.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import { FakeCluster } from '../../fakes/kubernetes/cluster.ts';
import { specWith } from '../../sandbox-spec.ts';

interface Told {
  notices: string[];
  progress: string[];
}

/** A cluster of a test file, and programs that use it. */
export interface ClusterRig {
  cluster: FakeCluster;
  told: Told;
  /** One program; several of the same installation are replicas. */
  backend(options?: Record<string, unknown>, parts?: { installation?: string; directory?: string }): Backend;
  spec(wishes?: Partial<SandboxSpec>, directory?: string): SandboxSpec;
  open(backend: Backend, spec: SandboxSpec, signal?: AbortSignal): Promise<OpenSandbox>;
  podOf(spec: SandboxSpec): string;
}

export async function useCluster(): Promise<ClusterRig> {
  const cluster = await FakeCluster.start();
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-kubernetes-'));
  const context = contextIn(directory);
  const told: Told = { notices: [], progress: [] };
  afterAll(async () => {
    await cluster.close();
    await removeTree(directory);
  });
  return {
    cluster,
    told,
    backend: (options = {}, parts = {}) => {
      const all = { kubernetes_kubeconfig: cluster.kubeconfig(), kubernetes_image: 'test:image', ...options };
      const { installation = context.installation, directory: sandboxesDirectory = directory } = parts;
      return backendOf('kubernetes', { ...context, installation, sandboxesDirectory, options: all });
    },
    spec: (wishes = {}, place = directory) => {
      const name = `test-${randomBytes(6).toString('hex')}`;
      return specWith({
        name,
        directory: join(place, 'kubernetes', name),
        image: 'test:image',
        limits: { cpus: 0, memoryMb: 512, diskMb: 0, pids: 0 },
        network: undefined,
        ...wishes,
      });
    },
    open: (backend, spec, signal) =>
      backend.open(spec, { notice: (text) => told.notices.push(text), progress: (text) => told.progress.push(text) }, signal),
    podOf: ({ name }) => `hermetic-${name}`,
  };
}

export async function output(sandbox: OpenSandbox, command: string): Promise<string> {
  return (await collect(await sandbox.exec({ command }))).stdout;
}
