import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import { program } from '../../src/cli/main.ts';
import { commandEffects, commandPath } from '../../src/cli/session-guard.ts';
import { HermeticError } from '../../src/core/errors.ts';
import { describeNeeding } from '../needs.ts';
import { Hermetic } from './hermetic.ts';

const bin = fileURLToPath(new URL('../../bin/hermetic.mjs', import.meta.url));

function ioIn(environment: Record<string, string>): CliIo {
  const sink = { write: () => true } as unknown as NodeJS.WritableStream;
  return { stdin: process.stdin, stdout: sink, stderr: sink, environment, setExitCode: () => undefined };
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

describe('the table of command effects', () => {
  it('lists every command and no other', () => {
    expect(
      leavesOf(program(ioIn({})))
        .map(commandPath)
        .sort(),
    ).toEqual(Object.keys(commandEffects).sort());
  });

  it.each([
    ['start', 'changes'],
    ['approvals approve', 'changes'],
    ['pairing approve', 'changes'],
    ['secret set', 'changes'],
    ['config set', 'changes'],
    ['status', 'reads'],
  ])('the table says that %s %s', (path, effect) => expect(commandEffects[path]).toBe(effect));

  const changing = Object.keys(commandEffects).filter((path) => commandEffects[path] === 'changes');
  it.each(changing)('refuses `hermetic %s` in a session before it does anything', async (path) => {
    const hermetic = program(ioIn({ HERMETIC_IN_SESSION: '1', HERMETIC_HOME: '/nonexistent' }));
    const command = leavesOf(hermetic).find((one) => commandPath(one) === path);
    const words = command?.registeredArguments.filter(({ required }) => required).map(() => 'x') ?? [];
    const error = await hermetic.parseAsync([...path.split(' '), ...words], { from: 'user' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HermeticError);
    expect(error).toMatchObject({ code: 'approval/own-session', message: expect.stringContaining(`hermetic ${path} is refused`) });
  });
});

describe('commands of a session on the host itself', () => {
  const hermetic = new Hermetic();
  afterAll(() => rmSync(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));
  const mode = async () => (await hermetic.run(['config', 'get', 'approvals.mode'])).stdout.trim();
  const own = `${JSON.stringify(process.execPath)} ${JSON.stringify(bin)}`;
  const variables = `PATH="$PATH" HERMETIC_HOME=${JSON.stringify(hermetic.environment.HERMETIC_HOME)}`;

  it('a session cannot change the configuration by the command line, and can read it', { timeout: 120_000 }, async () => {
    const out = join(hermetic.home, 'out');
    const script = [
      `export ${variables}`,
      `${own} config set approvals.mode off; echo "first $?"`,
      `env -i ${variables} setsid -w ${own} config set approvals.mode off; echo "second $?"`,
      `env -i ${variables} nohup ${own} approvals approve AAAA >${out} 2>&1 & wait $!; echo "third $?"`,
      `${own} config get approvals.mode`,
    ].join('\n');
    const { code, stdout, stderr } = await hermetic.run(['run', '--backend', 'local', '--', script]);
    expect(stdout).toBe('first 4\nsecond 4\nthird 4\nmanual\n');
    expect(code).toBe(0);
    expect(stderr).toContain('error: hermetic config set is refused: a command of a session started this (its environment).');
    expect(stderr).toContain('a command of a session started this (its resource limits)');
    expect(readFileSync(out, 'utf8')).toContain('hermetic approvals approve is refused');
    expect(await mode()).toBe('manual');
  });

  it('a person outside of sessions can change the configuration', async () => {
    expect(await hermetic.run(['config', 'set', 'approvals.mode', 'smart'])).toMatchObject({ code: 0, stderr: '' });
    expect(await mode()).toBe('smart');
  });
});

describeNeeding(['mount', 'script'], 'an unreadable /proc', () => {
  const hermetic = new Hermetic();
  afterAll(() => rmSync(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));
  /** In a view of the file system of its own, in which `/proc` is empty. */
  const hidden = (command: string) =>
    spawnSync('unshare', ['-m', 'sh', '-c', `mount -t tmpfs none /proc && ${command}`], { env: hermetic.environment, encoding: 'utf8' });
  const set = `${process.execPath} ${bin} config set approvals.timeout`;

  it('a person at a terminal can change the configuration without /proc', () => {
    const { status, stdout } = hidden(`exec script -qec '${set} 50' /dev/null </dev/null`);
    expect(stdout).toContain('approvals.timeout is set');
    expect(status).toBe(0);
  });

  it('a program without a terminal is refused without /proc, and told why', () => {
    const { status, stderr } = hidden(`exec ${set} 60 </dev/null`);
    expect(status).toBe(4);
    expect(stderr).toContain('it is unknown whether a command of a session started this: the list of processes cannot be read');
  });

  it('the environment of a session counts at a terminal too', () => {
    const { status, stdout } = hidden(`exec script -qec 'HERMETIC_IN_SESSION=1 ${set} 70' /dev/null </dev/null`);
    expect([status, stdout]).toEqual([4, expect.stringContaining('its environment')]);
  });
});
