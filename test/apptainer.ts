import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { findProgram } from '../src/backends/programs.ts';

/** `scripts/test-apptainer.sh` prints it. */
export const apptainer = process.env.HERMETIC_TEST_APPTAINER || findProgram('apptainer') || '/usr/bin/apptainer';

/** A directory that every user can reach, removed when all tests of the file are over. */
export function reachableDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-apptainer-'));
  spawnSync('chmod', ['0755', directory]);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The image of the tests of docker, unpacked. A reason when it cannot be had. */
export function unpackImage(directory: string): string {
  const image = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';
  const root = join(directory, 'root');
  mkdirSync(root);
  const script = 'id=$(docker create "$1") && docker export "$id" | tar -C "$2" -xf -; code=$?; docker rm "$id" >/dev/null; exit "$code"';
  spawnSync('bash', ['-o', 'pipefail', '-c', script, 'unpack', image, root], { stdio: 'ignore' });
  return root;
}
