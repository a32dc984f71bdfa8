import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SandboxLedger } from '../core/store.ts';
import { hermetic } from '../lib/own-command.ts';
import { printable } from '../lib/printable.ts';
import { isKept } from './kept.ts';

/**
 * Says in a sentence for each place that sessions have their directories there and not in `sandboxesDirectory`: that one was moved, or is not mounted.
 * Empty when all are where they are looked for.
 */
export async function missingDirectories(ledger: SandboxLedger, sandboxesDirectory: string): Promise<string[]> {
  const counts = new Map<string, number>();
  for (const entry of await ledger.list()) {
    const { backend, name, directory } = entry;
    if (!isKept(entry) || existsSync(join(sandboxesDirectory, backend, name))) continue;
    const place = dirname(dirname(directory));
    // One directory of several was removed by hand: its entry goes with the next sweep.
    if (place === sandboxesDirectory && existsSync(dirname(directory))) continue;
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return [...counts].map(([place, count]) => sentence(place, count, sandboxesDirectory));
}

const giveUp = `give it up with \`${hermetic} sandbox destroy\` (\`${hermetic} sandbox list\` names what is missing)`;

function sentence(place: string, count: number, sandboxesDirectory: string): string {
  const [former, here] = [printable(place), printable(sandboxesDirectory)];
  const whose = count === 1 ? 'The sandbox of 1 session has its directory' : `The sandboxes of ${count} sessions have their directories`;
  if (place === sandboxesDirectory)
    return `${whose} in ${here}, where nothing of it is left: mount that disk, restore it from a backup, or ${giveUp}.`;
  const ways = existsSync(place)
    ? `move the content of ${former} to ${here}, or set terminal.sandbox_dir back to ${former}`
    : `${former} is missing too, so restore it from a backup to ${here}, or ${giveUp}`;
  return `${whose} in ${former}, and terminal.sandbox_dir is ${here}: ${ways}.`;
}
