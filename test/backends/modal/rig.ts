import { afterAll } from 'vitest';
import type { CloudProgress, CloudWish } from '../../../src/backends/cloud/provider.ts';
import { ModalAccess } from '../../../src/backends/modal/access.ts';
import { modalOptions } from '../../../src/backends/modal/options.ts';
import { ModalProvider } from '../../../src/backends/modal/provider.ts';
import type { SandboxSpec } from '../../../src/core/sandbox.ts';
import type { Attach } from '../../../src/shell/streams/attached-command.ts';
import { FakeModal } from '../../fakes/modal/server.ts';
import { specWith } from '../../sandbox-spec.ts';

/** A fake of Modal and a provider for it, until the tests of the file are over. */
export async function startModal(): Promise<{ fake: FakeModal; provider: ModalProvider }> {
  const fake = await FakeModal.start();
  afterAll(() => fake.close());
  return { fake, provider: providerOf(fake.environment) };
}

export function providerOf(environment: Record<string, string | undefined>): ModalProvider {
  return new ModalProvider(new ModalAccess(environment), modalOptions.parse({}));
}

export const quietly: CloudProgress = { progress: () => undefined, signal: undefined };

export function wishFor(spec: Partial<SandboxSpec> = {}, labels: Record<string, string> = { 'hermetic-installation': 'test' }): CloudWish {
  const limits = { cpus: 0, memoryMb: 512, diskMb: 0, pids: 0 };
  return { labels, spec: specWith({ name: 'test', image: 'test:image', limits, ...spec }) };
}

export interface Outcome {
  stdout: Buffer;
  stderr: Buffer;
  code: number | undefined;
}

/** Runs a bash script there, with this input. */
export async function run(attach: Attach, script: string, input: Uint8Array | string = ''): Promise<Outcome> {
  const command = await attach(['bash', '-c', script]);
  command.stdin.end(input);
  const [stdout, stderr] = await Promise.all(
    [command.stdout, command.stderr].map(async (stream) => Buffer.concat((await stream.toArray()) as Buffer[])),
  );
  return { stdout: stdout ?? Buffer.alloc(0), stderr: stderr ?? Buffer.alloc(0), code: await command.exitCode() };
}
