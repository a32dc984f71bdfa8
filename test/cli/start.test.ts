import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { channelDrivers } from '../../src/channels/index.ts';
import { platformNames } from '../../src/config/sections/channels.ts';
import { Hermetic } from './hermetic.ts';

const connectable = channelDrivers.map(({ kind }) => kind);

describe('hermetic start', () => {
  let hermetic: Hermetic;
  beforeEach(() => {
    hermetic = new Hermetic({ TERMINAL_ENV: 'local', HERMETIC_WEB_PORT: '0' });
  });
  afterEach(() => rm(hermetic.home, { recursive: true, force: true }));

  it.each(platformNames.filter((name) => !connectable.includes(name)))(
    'does not start with %s enabled, which it could not connect to',
    async (name) => {
      const environment = { [`HERMETIC_${name.toUpperCase()}_ENABLED`]: 'true' };
      const { code, stdout, stderr } = await hermetic.run(['start'], { environment });
      expect(stderr).toContain(`${name}.enabled is true (environment HERMETIC_${name.toUpperCase()}_ENABLED)`);
      expect(stderr).toContain(`The platforms it connects to: ${connectable.join(', ')}.`);
      expect(stdout).toBe('');
      expect(code).toBe(2);
    },
  );

  it('says where it is enabled, and leaves everything that needs no platform alone', async () => {
    expect((await hermetic.run(['config', 'set', 'discord.enabled', 'true'])).code).toBe(0);
    expect((await hermetic.run(['config', 'check'])).code).toBe(0);
    expect(await hermetic.run(['run', '--', 'echo', 'here'])).toMatchObject({ code: 0, stdout: 'here\n' });
    expect(await hermetic.run(['start'])).toMatchObject({ code: 2, stderr: expect.stringContaining('(config.yaml:2)') });
  });

  it('does not start without the token of a platform that is enabled', async () => {
    const { code, stderr } = await hermetic.run(['start'], { environment: { HERMETIC_TELEGRAM_ENABLED: 'true' } });
    expect(stderr).toContain('telegram is enabled, but TELEGRAM_BOT_TOKEN (telegram.token_env) is not set');
    expect(code).toBe(2);
  });

  it('does not start with an image that its backend has no use for', async () => {
    const { code, stderr } = await hermetic.run(['start'], { environment: { HERMETIC_GATEWAY_SANDBOX_IMAGE: 'debian:13' } });
    expect(stderr).toContain('local has no image');
    expect(code).toBe(2);
  });
});
