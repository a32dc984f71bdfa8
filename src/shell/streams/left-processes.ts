import { guestBash } from '../../lib/guest-files.ts';
import { guestScript } from '../guest-scripts.ts';
import type { Attach } from './attached-command.ts';

const lookMs = 20_000;

/** Whether a process that a command left runs in a sandbox; asked from outside, when no program is attached. Doubt counts as yes. */
export async function hasLeftProcesses(attach: Attach): Promise<boolean> {
  const [boot, script] = await Promise.all([guestScript('streamBoot'), guestBash('carrier', 'processes', 'processes-left')]);
  const command = await attach(['bash', '--noprofile', '--norc', '-c', boot, 'hermetic']);
  const late = setTimeout(() => command.destroy(), lookMs);
  try {
    command.stdin.write(`${script.length}\n${script}`, 'latin1');
    const ends = [command.stdout, command.stderr].map(async (stream) => {
      for await (const _ of stream);
    });
    await Promise.all(ends);
    return (await command.exitCode()) !== 11;
  } catch {
    return true;
  } finally {
    clearTimeout(late);
    command.destroy();
  }
}
