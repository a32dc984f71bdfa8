import { randomBytes } from 'node:crypto';
import { HermeticError } from '../../core/errors.ts';
import type { Check, Enforcement } from '../../core/sandbox.ts';
import { targetText } from '../../lib/ssh/target.ts';
import { failedCheck } from '../failed-check.ts';
import type { Directories } from './directories.ts';
import { explained } from './errors.ts';
import type { Machine } from './machine.ts';

const shared = { enforced: false, how: 'the remote machine is shared by all that runs on it' };
export const limits: Enforcement = { cpus: shared, memoryMb: shared, diskMb: shared, pids: shared };

/** Runs `true` on the remote machine, beside a throw-away directory of a session. Never throws. */
export async function checkMachine(reach: () => { machine: Machine; directories: Directories }): Promise<Check> {
  try {
    const { machine, directories } = reach();
    const name = `check-${randomBytes(8).toString('hex')}`;
    await machine.during(async () => {
      await directories.open(name);
      await runTrue(machine).finally(() => directories.remove(name));
    });
    const notes = ['Warning: ssh does not protect the remote machine: commands run there as a user of it.'];
    return { usable: true, summary: `runs commands on ${targetText(machine.target)}`, limits, notes };
  } catch (error) {
    return failedCheck(error, 'Look at the log of sshd on the remote machine.');
  }
}

async function runTrue(machine: Machine): Promise<void> {
  const command = await explained(machine.start(['true']));
  command.stdin.end();
  for (const stream of [command.stdout, command.stderr]) stream.resume();
  const code = await command.exitCode();
  if (code !== 0)
    throw new HermeticError('backend/unavailable', `The program true failed on ${machine.target.host}: code ${code ?? 'unknown'}.`);
}
