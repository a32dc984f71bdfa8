import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { findProgram } from '../src/backends/programs.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';

/** `scripts/test-apptainer.sh` prints it. */
export const apptainer = process.env.HERMETIC_TEST_APPTAINER || findProgram('apptainer') || '/usr/bin/apptainer';

/** A directory that every user can reach, removed when all tests of the file are over. */
export function reachableDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-apptainer-'));
  execFileSync('chmod', ['0755', directory]);
  afterAll(() => removeTree(directory));
  return directory;
}

/** The image of the tests of docker as a directory; empty when it cannot be had. */
export function unpackImage(directory: string): string {
  const image = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';
  const root = join(directory, 'root');
  mkdirSync(root);
  const script = 'id=$(docker create "$1") && docker export "$id" | tar -C "$2" -xf -; docker rm "$id"';
  spawnSync('bash', ['-c', script, 'unpack', image, root], { stdio: 'ignore' });
  return root;
}

/** An image as small as can be that a sandbox can be made of, as `docker save` would write it. */
export function smallArchive(directory: string): string {
  const saved = join(directory, 'small-saved');
  const file = join(directory, 'small.tar');
  execFileSync('bash', [join(import.meta.dirname, 'small-image.bash'), join(directory, 'small-root'), saved], { stdio: 'ignore' });
  const hash = createHash('sha256')
    .update(readFileSync(join(saved, 'layer.tar')))
    .digest('hex');
  const config = {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Env: ['PATH=/opt/own:/usr/bin', 'OF_THE_IMAGE=yes'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${hash}`] },
  };
  writeFileSync(join(saved, 'config.json'), JSON.stringify(config));
  writeFileSync(join(saved, 'manifest.json'), JSON.stringify([{ Config: 'config.json', RepoTags: ['small:1'], Layers: ['layer.tar'] }]));
  execFileSync('tar', ['-C', saved, '-cf', file, 'manifest.json', 'config.json', 'layer.tar']);
  return file;
}
