import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeSignalDaemon } from '../fakes/signal/daemon.ts';
import { us } from '../fakes/signal/world.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
let daemon: FakeSignalDaemon;
beforeEach(async () => {
  hermetic = new Hermetic();
  daemon = await FakeSignalDaemon.start();
  await hermetic.run(['config', 'set', 'signal.api_root', daemon.root]);
});
afterEach(async () => {
  await daemon.close();
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

const config = (): string => readFileSync(join(hermetic.environment.HERMETIC_HOME ?? '', 'config.yaml'), 'utf8');

describe('hermetic setup --signal', () => {
  it('connects an account that signal-cli has', async () => {
    expect(await hermetic.run(['config', 'set', 'signal.account', us.number ?? ''])).toMatchObject({ code: 0, stderr: '' });
    const outcome = await hermetic.run(['setup', '--signal']);
    expect(outcome.stdout).toContain(`signal-cli has the account ${us.number}.`);
    expect(outcome.stdout).toContain('hermetic pairing approve');
    expect(config()).toContain('enabled: true');
  });

  it('does not connect an account that signal-cli has not, or a daemon that does not run, and says what to do', async () => {
    await hermetic.run(['config', 'set', 'signal.account', '+15559999999']);
    const unknown = await hermetic.run(['setup', '--signal']);
    expect(unknown.code).not.toBe(0);
    expect(unknown.stderr).toContain('signal-cli has no such account');
    await daemon.goDown();
    const down = await hermetic.run(['setup', '--signal']);
    expect(down.stderr).toMatch(/no connection \(ECONNREFUSED\)[\s\S]*signal-cli -a \S+ daemon --http/);
    expect(config()).not.toContain('enabled: true');
  });

  it.each([
    ['signal.account', '5551234567', 'country code'],
    ['signal.allowed_users', '["+15550000002"]', 'an account id in quotes, as hermetic pairing list shows it'],
    ['signal.admins', '["+15550000002"]', 'an account id in quotes, as hermetic pairing list shows it'],
  ])('refuses %s %s, and says what it takes', async (key, value, expected) => {
    const outcome = await hermetic.run(['config', 'set', key, value]);
    expect(outcome.code).not.toBe(0);
    expect(outcome.stderr).toContain(expected);
  });
});
