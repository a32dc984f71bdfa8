import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CloudProgress, CloudWish } from '../../../src/backends/cloud/provider.ts';
import { DaytonaApi } from '../../../src/backends/daytona/api.ts';
import { type DaytonaOptions, daytonaOptions } from '../../../src/backends/daytona/options.ts';
import { DaytonaProvider } from '../../../src/backends/daytona/provider.ts';
import type { SandboxSpec } from '../../../src/core/sandbox.ts';
import type { AttachedCommand } from '../../../src/shell/streams/attached-command.ts';
import { FakeDaytona } from '../../fakes/daytona/cloud.ts';
import { specWith } from '../../sandbox-spec.ts';

const labels = { 'hermetic.installation': 'tests' };
export const quietly: CloudProgress = { progress: () => undefined, signal: undefined };

export interface Rig {
  cloud: FakeDaytona;
  provider: DaytonaProvider;
  /** Path of the file with the key of the gateway. */
  knownHosts: string;
}

/** A Daytona of this test alone. */
export async function startDaytona(wishes: Partial<DaytonaOptions> = {}, environment: Record<string, string> = {}): Promise<Rig> {
  const cloud = await FakeDaytona.start();
  const directory = mkdtempSync(join(tmpdir(), 'hermetic-daytona-'));
  onTestFinished(async () => {
    await cloud.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const options = daytonaOptions.parse({ daytona_image: 'test:image', ...wishes });
  const api = new DaytonaApi({ environment: { ...cloud.environment, ...environment } });
  const hostKeys = { path: join(directory, 'known_hosts'), acceptNew: true };
  return { cloud, knownHosts: hostKeys.path, provider: new DaytonaProvider(api, { options, target: undefined, hostKeys }) };
}

export function wishFor(wishes: Partial<SandboxSpec> = {}): CloudWish {
  const limits = { cpus: 0, memoryMb: 1024, diskMb: 0, pids: 0 };
  return { spec: specWith({ name: 'a-test', limits, network: undefined, ...wishes }), labels };
}

export interface Outcome {
  stdout: string;
  stderr: string;
  code: number | undefined;
}

/** Reads it to its end. */
export async function outcomeOf(command: AttachedCommand): Promise<Outcome> {
  const read = async (stream: AsyncIterable<Buffer>): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return Buffer.concat(chunks).toString('latin1');
  };
  const [stdout, stderr] = await Promise.all([read(command.stdout), read(command.stderr)]);
  return { stdout, stderr, code: await command.exitCode() };
}
