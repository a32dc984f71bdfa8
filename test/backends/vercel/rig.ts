import { randomBytes } from 'node:crypto';
import { afterAll } from 'vitest';
import type { CloudWish } from '../../../src/backends/cloud/provider.ts';
import type { Beat } from '../../../src/backends/vercel/command-input.ts';
import { vercelOptions } from '../../../src/backends/vercel/options.ts';
import { VercelProvider } from '../../../src/backends/vercel/provider.ts';
import type { SandboxSpec } from '../../../src/core/sandbox.ts';
import type { AttachedCommand } from '../../../src/shell/streams/attached-command.ts';
import { FakeVercel } from '../../fakes/vercel/api.ts';
import { specWith } from '../../sandbox-spec.ts';

export const quietly = { progress: () => undefined, signal: undefined };

export interface Printed {
  stdout: Buffer;
  stderr: string;
  code: number | undefined;
}

/** Everything a command prints, to its end. */
export async function printedBy(command: AttachedCommand): Promise<Printed> {
  const [stdout, stderr] = await Promise.all([bytesOf(command.stdout), bytesOf(command.stderr)]);
  return { stdout, stderr: stderr.toString(), code: await command.exitCode() };
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Vercel on loopback, and a provider that talks to it. */
export async function startVercel() {
  const fake = await FakeVercel.start();
  afterAll(() => fake.close());
  const options = vercelOptions.parse({ vercel_api_root: fake.root });
  const providerWith = (beat?: Beat, environment: Record<string, string | undefined> = fake.environment): VercelProvider =>
    new VercelProvider(environment, options, beat);
  const wishFor = (changes: Partial<SandboxSpec> = {}): CloudWish => {
    const name = `test-${randomBytes(4).toString('hex')}`;
    const limits = { cpus: 1, memoryMb: 1024, diskMb: 0, pids: 0 };
    return { spec: specWith({ name, limits, ...changes }), labels: { 'hermetic-installation': 'test', 'hermetic-name': name } };
  };
  return { fake, provider: providerWith(), providerWith, wishFor };
}
