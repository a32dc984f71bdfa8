import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import type { SandboxBeginning } from '../../src/core/store.ts';

/** Paths for databases, each in a directory of its own that is gone after the tests. */
export function scratchPaths(): () => string {
  const scratch = mkdtempSync(join(tmpdir(), 'hermetic-store-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  return () => join(mkdtempSync(join(scratch, 'home-')), 'state.db');
}

/** The names of all files in the database's directory. */
export function beside(path: string): string[] {
  return readdirSync(dirname(path)).sort();
}

export function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

export const at = new Date(1_700_000_000_000);

export function beginning(name: string): SandboxBeginning {
  return {
    backend: 'docker',
    name,
    session: ['cli', name],
    image: undefined,
    specHash: 'first',
    directory: `/${name}`,
    persistent: true,
    createdAt: at,
    owner: 'one',
    leaseMs: 60_000,
  };
}
