import { randomBytes } from 'node:crypto';
import { HermeticError } from '../../core/errors.ts';
import type { Check, Enforcement, SandboxSpec } from '../../core/sandbox.ts';
import { within } from '../../lib/deadline.ts';
import { failedCheck } from '../failed-check.ts';
import type { CloudProvider } from './provider.ts';

const execMs = 60_000;
/** The outer bound of one whose program has died. */
export const probeSeconds = 300;

export interface CloudCheck {
  provider: CloudProvider;
  product: string;
  image: string;
  labels: Readonly<Record<string, string>>;
  enforcement: Enforcement;
}

/** Makes a sandbox as sessions get it, runs a command in it, and removes it. Never throws. */
export async function checkCloud({ provider, product, image, labels, enforcement }: CloudCheck): Promise<Check> {
  try {
    const summary = `${await provider.account()}, image ${image}`;
    const spec = probeSpec(image);
    const reference = await provider.create({ spec, labels }, { progress: () => undefined, signal: undefined });
    try {
      await runBash(provider, product, reference);
    } finally {
      await provider.remove(reference);
    }
    return { usable: true, summary, limits: enforcement, notes: [] };
  } catch (error) {
    return failedCheck(error, `See the dashboard of ${product}.`);
  }
}

function probeSpec(image: string): SandboxSpec {
  return {
    name: `check-${randomBytes(6).toString('hex')}`,
    session: '',
    directory: '',
    image,
    workdir: undefined,
    env: {},
    mounts: [],
    limits: { cpus: 1, memoryMb: 1024, diskMb: 0, pids: 0 },
    network: 'none',
    persistent: false,
    user: 'default',
    idleSeconds: probeSeconds,
    backgroundSeconds: 0,
  };
}

async function runBash(provider: CloudProvider, product: string, reference: string): Promise<void> {
  const run = async (): Promise<number | undefined> => {
    const command = await provider.attach(reference)(['bash', '-c', 'exit "$((BASH_VERSINFO[0] < 5))"']);
    command.stdin.end();
    for (const stream of [command.stdout, command.stderr]) for await (const _ of stream);
    return await command.exitCode();
  };
  const code = await within(execMs, run(), () => {
    throw new HermeticError('backend/unavailable', `A sandbox of ${product} started, but a command in it did not end.`);
  });
  if (code === 0) return;
  throw new HermeticError('backend/unavailable', `A sandbox of ${product} started, but bash 5 is not in it (code ${code ?? 'unknown'}).`, {
    hint: 'The image needs bash 5 or newer and coreutils.',
  });
}
