import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { BackendContext } from '../src/backends/context.ts';
import type { DockerOptions } from '../src/backends/docker/options.ts';
import type { BackendDriver } from '../src/backends/driver.ts';
import { backendDrivers } from '../src/backends/index.ts';
import type { Backend } from '../src/core/sandbox.ts';
import { EgressThread } from '../src/egress/thread.ts';

const drivers: ReadonlyMap<string, BackendDriver> = new Map(backendDrivers.map((driver) => [driver.kind, driver]));

/** Lets restricted sandboxes reach nothing. */
export function strictEgress(): EgressThread {
  return new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [22, 443], notesAllowed: false }));
}

/** With the options of backends. */
export interface TestContext extends BackendContext {
  docker: { image: string } & Partial<DockerOptions>;
  /** Of any other backend. */
  options?: Readonly<Record<string, unknown>>;
}

export function backendOf(kind: string, { docker: { image, ...docker }, options = {}, ...context }: TestContext): Backend {
  const driver = drivers.get(kind);
  if (!driver) throw new Error(`no backend is called ${kind}`);
  return driver.create(context, driver.options.parse(kind === 'docker' ? { docker_image: image, ...docker } : options));
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
