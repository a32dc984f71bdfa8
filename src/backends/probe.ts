import { randomBytes } from 'node:crypto';
import { HermeticError } from '../core/errors.ts';
import type { Limits, SandboxSpec } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import type { Attach } from '../shell/streams/attached-command.ts';

/** A sandbox that a check makes and removes. `seconds` is the outer bound of one whose program has died. */
export function probeSpec(image: string, seconds: number, limits: Limits): SandboxSpec {
  return {
    name: `check-${randomBytes(6).toString('hex')}`,
    session: '',
    directory: '',
    image,
    workdir: undefined,
    env: {},
    mounts: [],
    limits,
    network: undefined,
    persistent: false,
    user: 'default',
    idleSeconds: seconds,
    backgroundSeconds: 0,
  };
}

/** Runs a command in it, of which `what` says in words what it is. Rejects when no bash 5 ran. */
export async function requireBash(attach: Attach, what: string, { deadlineMs, hint }: { deadlineMs: number; hint: string }): Promise<void> {
  const run = async (): Promise<number | undefined> => {
    const command = await attach(['bash', '-c', 'exit "$((BASH_VERSINFO[0] < 5))"']);
    command.stdin.end();
    for (const stream of [command.stdout, command.stderr]) for await (const _ of stream);
    return await command.exitCode();
  };
  const code = await within(deadlineMs, run(), () => {
    throw new HermeticError('backend/unavailable', `${what} started, but a command in it did not end.`);
  });
  if (code === 0) return;
  throw new HermeticError('backend/unavailable', `${what} started, but bash 5 is not in it (code ${code ?? 'unknown'}).`, { hint });
}
