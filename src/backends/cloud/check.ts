import type { Check, Enforcement } from '../../core/sandbox.ts';
import { failedCheck } from '../failed-check.ts';
import { probeSpec, requireBash } from '../probe.ts';
import { neededPrograms } from './attach.ts';
import type { CloudProvider } from './provider.ts';

const execMs = 60_000;
/** The outer bound of one whose program has died. */
const probeSeconds = 300;
/** A provider may have to build the image first. */
export const longestCheckMs = 45 * 60_000;

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
    const spec = probeSpec(image, probeSeconds, { cpus: 1, memoryMb: 1024, diskMb: 0, pids: 0 });
    const reference = await provider.create({ spec, labels }, { progress: () => undefined, signal: undefined });
    try {
      await requireBash(provider.attach(reference), `A sandbox of ${product}`, {
        deadlineMs: execMs,
        hint: neededPrograms,
      });
    } finally {
      await provider.remove(reference);
    }
    return { usable: true, summary, limits: enforcement, notes: [] };
  } catch (error) {
    return failedCheck(error, `See the dashboard of ${product}.`);
  }
}
