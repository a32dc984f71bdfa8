import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { channelDrivers } from '../../src/channels/index.ts';
import { platformsWithoutChannel } from '../../src/config/unused.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

const connectable = channelDrivers.map(({ kind }) => kind);

describe('hermetic start', () => {
  let hermetic: Hermetic;
  beforeEach(() => {
    hermetic = new Hermetic({ TERMINAL_ENV: 'local', HERMETIC_WEB_PORT: '0' });
  });
  afterEach(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

  it.each(platformsWithoutChannel)('refuses to start with %s enabled, which has no channel', async (name) => {
    const environment = { [`HERMETIC_${name.toUpperCase()}_ENABLED`]: 'true' };
    const { code, stdout, stderr } = await hermetic.run(['start'], { environment });
    expect(stderr).toContain(
      `environment: HERMETIC_${name.toUpperCase()}_ENABLED: ${name}.enabled is true, but this version has no channel for ${name}.`,
    );
    expect(stderr).toContain(`The platforms it connects to: ${connectable.join(', ')}.`);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('names the line that enables a platform without a channel, and run and config check still work', async () => {
    await mkdir(join(hermetic.home, '.hermetic'), { mode: 0o700 });
    await writeFile(join(hermetic.home, '.hermetic', 'config.yaml'), 'matrix:\n  enabled: true\n');
    expect((await hermetic.run(['config', 'check'])).code).toBe(0);
    expect(await hermetic.run(['run', '--', 'echo', 'here'])).toMatchObject({ code: 0, stdout: 'here\n' });
    expect(await hermetic.run(['start'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('config.yaml:2:3: matrix.enabled is true'),
    });
  });

  it('refuses to start without the token of an enabled platform', async () => {
    const { code, stderr } = await hermetic.run(['start'], { environment: { HERMETIC_TELEGRAM_ENABLED: 'true' } });
    expect(stderr).toContain('telegram is enabled, but TELEGRAM_BOT_TOKEN (telegram.token_env) is not set');
    expect(code).toBe(2);
  });

  it('refuses to start with an image that its backend cannot use', async () => {
    const { code, stderr } = await hermetic.run(['start'], { environment: { HERMETIC_GATEWAY_SANDBOX_IMAGE: 'debian:13' } });
    expect(stderr).toContain('local has no image');
    expect(code).toBe(2);
  });

  const socket = () => join(hermetic.home, '.hermetic', 'gateway.sock');

  it("fails with one error and leaves nothing running when the page's port is taken", async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    try {
      const { code, stdout, stderr } = await hermetic.run(['start'], { environment: { HERMETIC_WEB_PORT: String(port) } });
      expect(stderr).toMatch(new RegExp(`^error: The web page cannot listen on 127.0.0.1 port ${port}: .*\nhint: .*\n$`));
      expect([code, stdout]).toEqual([2, '']);
      expect(existsSync(socket())).toBe(false);
    } finally {
      other.close();
    }
  });

  it('refuses to start when anyone on the network could read the traffic', async () => {
    const { code, stderr } = await hermetic.run(['start'], { environment: { HERMETIC_WEB_HOST: '0.0.0.0' } });
    expect(stderr).toContain('anyone on the network could read the traffic');
    expect(code).toBe(2);
  });

  it.each([
    ['is empty', '', 0o600, 'holds no token'],
    ['can be read by others', 'x'.repeat(43), 0o644, 'is not a file that only you can read'],
  ])("refuses to start when the page's token %s", async (_, content, mode, says) => {
    await mkdir(join(hermetic.home, '.hermetic'), { mode: 0o700 });
    await writeFile(join(hermetic.home, '.hermetic', 'web-token'), content, { mode });
    const { code, stderr } = await hermetic.run(['start']);
    expect(stderr).toContain(says);
    expect(code).toBe(2);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends the gateway while it starts', async (signal) => {
    const child = hermetic.start(['start']);
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => (stderr += data.toString()));
    await until('it has begun', () => existsSync(socket()));
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toContain('Shutting down');
    expect(existsSync(socket())).toBe(false);
  });
});
