import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackendDriver } from '../src/backends/driver.ts';
import type { Backend, OpenListener, SandboxSpec } from '../src/core/sandbox.ts';
import { EgressThread } from '../src/egress/thread.ts';

export const image = process.env.HERMETIC_BENCH_IMAGE ?? 'nikolaik/python-nodejs:python3.11-nodejs20';
export const quiet: OpenListener = { notice: () => undefined, progress: (text) => console.error(text) };

/** The caller removes it. */
export const directory = await mkdtemp(join(tmpdir(), 'hermetic-bench-'));

const noRules = { allow: [], deny: [], private: [], directPorts: [22, 443], notesAllowed: false };
export const context = {
  installation: 'be7c',
  sandboxesDirectory: directory,
  environment: process.env,
  egress: new EgressThread(() => noRules),
};

/** With the image of this run, where the backend has images. `environment` is added to that of the host. */
export function backendOf(
  { kind, create, options, image: hasImage }: BackendDriver,
  settings: object = {},
  environment: Readonly<Record<string, string>> = {},
): Backend {
  const own = { ...context, environment: { ...context.environment, ...environment } };
  return create(own, options.parse({ ...(hasImage && { [`${kind}_image`]: image }), ...settings }));
}

export function specFor(kind: string, name: string): SandboxSpec {
  return {
    name: `bench-${name}`,
    session: name,
    directory: join(directory, kind, name),
    image: kind === 'docker' || kind === 'podman' ? image : undefined,
    workdir: undefined,
    // Without isolation, nothing is left in the home of the user who measures.
    env: { HOME: '/tmp' },
    mounts: [],
    limits: { cpus: 0, memoryMb: 0, diskMb: 0, pids: 256 },
    network: undefined,
    persistent: true,
    user: 'default',
    idleSeconds: 600,
    backgroundSeconds: 0,
  };
}

/** What an agent's session looks like after a while: variables, functions and aliases to carry over. */
export const lived = `
for n in {1..40}; do export "SETTING_$n=some value number $n"; done
for n in {1..20}; do eval "helper_$n() { local x=$n; if [[ \\$x ]]; then echo \\"value \\$x\\"; fi; }"; done
alias ll='ls -l' gs='git status'`;

/** Runs a program of this machine to its end. */
export async function program(file: string, args: readonly string[]): Promise<void> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
}
