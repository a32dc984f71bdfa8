import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { bubblewrap } from '../src/backends/bubblewrap/index.ts';
import type { BackendContext } from '../src/backends/context.ts';
import { docker } from '../src/backends/docker/index.ts';
import { local } from '../src/backends/local.ts';
import type { Driver } from '../src/core/driver.ts';
import type { Backend } from '../src/core/sandbox.ts';

const drivers: Record<string, Driver<BackendContext, Backend>> = { local, bubblewrap, docker };

export function backendOf(kind: string, context: BackendContext): Backend {
  const driver = drivers[kind];
  if (!driver) throw new Error(`no backend is called ${kind}`);
  return driver.create(context);
}

/** An installation of its own, with everything it makes below one directory. */
export function contextIn(sandboxesDirectory: string): BackendContext {
  const { PATH, DOCKER_HOST } = process.env;
  return {
    installation: randomBytes(6).toString('hex'),
    sandboxesDirectory,
    // A home of its own: what `local` runs must not touch the one of whoever runs the tests.
    environment: { PATH, DOCKER_HOST, HOME: join(sandboxesDirectory, 'home') },
    docker: { host: undefined, image: process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base', runtime: undefined, extraArgs: [] },
  };
}
