import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { bubblewrap } from '../src/backends/bubblewrap/index.ts';
import type { BackendContext } from '../src/backends/context.ts';
import { docker } from '../src/backends/docker/index.ts';
import type { DockerOptions } from '../src/backends/docker/options.ts';
import type { BackendDriver } from '../src/backends/driver.ts';
import { local } from '../src/backends/local.ts';
import type { Backend } from '../src/core/sandbox.ts';
import { EgressThread } from '../src/egress/thread.ts';

const drivers: Record<string, BackendDriver> = { local, bubblewrap, docker };

/** Lets restricted sandboxes reach nothing. */
export function strictEgress(): EgressThread {
  return new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [22, 443], notesAllowed: false }));
}

/** With the options of the one backend that has some. */
export interface TestContext extends BackendContext {
  docker: { image: string } & Partial<DockerOptions>;
}

export function backendOf(kind: string, { docker: { image, ...options }, ...context }: TestContext): Backend {
  const driver = drivers[kind];
  if (!driver) throw new Error(`no backend is called ${kind}`);
  return driver.create(context, driver.options.parse(kind === 'docker' ? { docker_image: image, ...options } : {}));
}

/** An installation of its own, with everything it makes below one directory. */
export function contextIn(sandboxesDirectory: string): TestContext {
  const { PATH, DOCKER_HOST } = process.env;
  return {
    installation: randomBytes(6).toString('hex'),
    sandboxesDirectory,
    // A home of its own: what `local` runs must not touch the one of whoever runs the tests.
    environment: { PATH, DOCKER_HOST, HOME: join(sandboxesDirectory, 'home') },
    egress: strictEgress(),
    docker: { image: process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base' },
  };
}
