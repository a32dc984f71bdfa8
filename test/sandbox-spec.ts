import { randomBytes } from 'node:crypto';
import type { SandboxSpec } from '../src/core/sandbox.ts';

/** A sandbox of a test with these wishes, and otherwise without limits and network. */
export function specWith(wishes: Partial<SandboxSpec> = {}): SandboxSpec {
  return {
    name: `test-${randomBytes(6).toString('hex')}`,
    session: 'a test',
    directory: '/nonexistent',
    image: undefined,
    workdir: undefined,
    env: {},
    mounts: [],
    limits: { cpus: 0, memoryMb: 0, diskMb: 0, pids: 0 },
    network: 'none',
    persistent: true,
    user: 'default',
    idleSeconds: 300,
    backgroundSeconds: 0,
    ...wishes,
  };
}
