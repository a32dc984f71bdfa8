import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
let running: ChildProcess[];
beforeEach(() => {
  hermetic = new Hermetic({ TERMINAL_ENV: 'local', HERMETIC_WEB_PORT: '0' });
  running = [];
});
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

/** A gateway that has printed its link. */
async function gateway(environment: Record<string, string> = {}): Promise<ChildProcess> {
  const child = hermetic.start(['start'], environment);
  running.push(child);
  await hermetic.untilGatewayRuns(child);
  return child;
}

interface Status {
  home: string;
  approvals: unknown;
  gateway: { state: string; url: string | null; model: string | null; turnsRunning: number; channels: unknown[] } | null;
}

const status = async (): Promise<Status> => JSON.parse((await hermetic.run(['status', '--json'])).stdout) as Status;

it('status says that no gateway runs', async () => {
  expect(await status()).toMatchObject({ gateway: null, approvals: { mode: 'manual' } });
  expect((await hermetic.run(['status'])).stdout).toMatch(/^gateway +not running; start it with hermetic start$/m);
});

it("status shows the running gateway's own report", async () => {
  await gateway();
  expect((await status()).gateway).toEqual({
    state: 'running',
    url: expect.stringMatching(/^http:\/\/localhost:\d+\/?$/),
    model: null,
    turnsRunning: 0,
    questionsOpen: 0,
    configuration: { problem: null, restart: [] },
    access: [
      { channel: 'web', text: 'only you, its owner, as an admin', isOpen: false },
      { channel: 'terminal', text: 'only you, its owner, as an admin', isOpen: false },
    ],
    channels: [
      { kind: 'web', state: 'up', reason: null },
      { kind: 'terminal', state: 'up', reason: null },
    ],
  });
  const { stdout } = await hermetic.run(['status']);
  expect(stdout).toMatch(/^gateway +running at http:/m);
  expect(stdout).toContain('model none: hermetic setup adds one');
  expect(stdout).toContain('web is up');
});

it('status says why a channel is down', async () => {
  await gateway({ HERMETIC_TELEGRAM_ENABLED: 'true', TELEGRAM_BOT_TOKEN: 'not-a-token' });
  const down = { kind: 'telegram', state: 'down', reason: expect.stringContaining('token') };
  expect((await status()).gateway?.channels).toContainEqual(down);
  expect((await hermetic.run(['status'])).stdout).toMatch(/telegram is down: .*token/);
});

it('status --ready exits by whether messages are answered and commands run, and names what is down', async () => {
  const ready = () => hermetic.run(['status', '--ready']);
  expect(await ready()).toMatchObject({ code: 1, stdout: 'not ready\nNo gateway runs for this home.\n' });
  const first = await gateway();
  expect(await ready()).toMatchObject({ code: 0, stdout: 'ready\n' });
  first.kill('SIGKILL');
  await once(first, 'close');
  await gateway({ HERMETIC_TELEGRAM_ENABLED: 'true', TELEGRAM_BOT_TOKEN: 'not-a-token' });
  const { code, stdout } = await ready();
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^not ready\nNo chat platform is connected\.\ntelegram is down: .*token/)]);
  const { stdout: json } = await hermetic.run(['status', '--ready', '--json']);
  expect(JSON.parse(json)).toEqual({ ok: false, reasons: ['No chat platform is connected.'], down: [expect.stringContaining('telegram')] });
});

it('status --ready says what is wrong with a gateway that runs and cannot tell its status', async () => {
  const child = await gateway();
  const ready = async () => (await hermetic.run(['status', '--ready'])).stdout;
  const database = join(hermetic.home, '.hermetic', 'state.db');
  renameSync(database, `${database}.away`);
  expect(await ready()).toMatch(/^not ready\nThe state database takes no writes\. .*was moved, replaced or deleted/);
  child.kill('SIGSTOP');
  expect(await ready()).toBe('not ready\nThe gateway does not answer.\n');
});

it('a second gateway is refused with the place of the first', async () => {
  await gateway();
  const { url } = (await status()).gateway ?? {};
  const second = await hermetic.run(['start']);
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toContain('A gateway is already running for this home.');
  expect(second.stderr).toContain(url);
});

it('a gateway takes the place of a killed one', async () => {
  const first = await gateway();
  first.kill('SIGKILL');
  await once(first, 'close');
  expect(existsSync(join((await status()).home, 'gateway.sock'))).toBe(true);
  expect((await status()).gateway).toBeNull();
  await gateway();
  expect((await status()).gateway).toMatchObject({ state: 'running' });
});
