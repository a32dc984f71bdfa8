import { afterAll } from 'vitest';
import { findDocker } from '../../../src/backends/docker/discover.ts';
import { type ContainerInput, containerBody } from '../../../src/backends/engine/container.ts';
import type { Engine } from '../../../src/backends/engine/engine.ts';
import { type ExecOptions, openExec } from '../../../src/backends/engine/exec-stream.ts';
import { findImage, type ImageFacts } from '../../../src/backends/engine/image.ts';
import type { SandboxSpec } from '../../../src/core/sandbox.ts';
import { isRequired } from '../../required.ts';
import { specWith } from '../../sandbox-spec.ts';

export interface RealEngine {
  engine: Engine;
  image: ImageFacts;
  /** Labels every container of one test file; what is left of it is removed at the end. */
  installation: string;
  /** Empty when the tests can run. */
  skip: string;
}

/** The engine of this machine, or the reason to skip, which is a failure where docker is required. */
export async function realEngine(): Promise<RealEngine> {
  const reference = process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base';
  const installation = `test-${crypto.randomUUID()}`;
  try {
    const engine = await findDocker({ environment: process.env });
    const image = await findImage(engine, reference);
    if (!image) {
      throw new Error(`the image ${reference} is not there; name another in HERMETIC_TEST_IMAGE`);
    }
    afterAll(async () => {
      const left = await engine.list({ 'hermetic.installation': installation });
      await Promise.all(left.map((container) => engine.remove(container.id)));
      engine.close();
    });
    return { engine, image, installation, skip: '' };
  } catch (error) {
    if (isRequired('docker')) {
      throw error;
    }
    const reason = error instanceof Error ? error.message : String(error);
    return { engine: undefined as never, image: undefined as never, installation, skip: `skipped: ${reason}` };
  }
}

export function exampleSpec(change: Partial<SandboxSpec> = {}): SandboxSpec {
  return specWith({
    session: 'a test: "with" text, $HOME and ünïcode',
    image: 'hermetic-test:base',
    limits: { cpus: 1, memoryMb: 256, diskMb: 128, pids: 100 },
    persistent: false,
    idleSeconds: 60,
    ...change,
  });
}

export function exampleInput(change: Partial<ContainerInput> = {}): ContainerInput {
  return {
    spec: exampleSpec(),
    installation: 'example',
    imageId: `sha256:${'0'.repeat(64)}`,
    guestVersion: '1',
    guestCommand: ['sleep', '600'],
    storageLimited: false,
    ...change,
  };
}

export function bodyFor(real: RealEngine, change: Partial<ContainerInput> = {}) {
  return containerBody(exampleInput({ installation: real.installation, imageId: real.image.id, ...change }));
}

/** Runs a command to its end. */
export async function run(engine: Engine, id: string, script: string, options: Partial<ExecOptions> = {}) {
  const exec = await openExec(engine, id, { command: ['bash', '-c', script], ...options });
  exec.stdin.end();
  const read = async (stream: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) {
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  };
  const [stdout, stderr] = await Promise.all([read(exec.stdout), read(exec.stderr)]);
  const state = await exec.inspect();
  return { stdout, stderr, code: state.exitCode };
}
