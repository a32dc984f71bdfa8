import { describe, expect, it } from 'vitest';
import { platformRules } from '../../src/app/channels.ts';
import type { ChannelDriver } from '../../src/channels/driver.ts';
import { channelDrivers } from '../../src/channels/index.ts';
import { configSchema } from '../../src/config/schema.ts';
import { FakePlatform, fakeChannel } from '../gateway/fake-channel.ts';

const config = configSchema.parse({
  telegram: { allowed_users: ['1'], admins: ['2'] },
  gateway: { allowed_users: ['telegram:3', 'discord:4'] },
});

describe('platform rules', () => {
  it('gives the rules of the local owner to a channel that declares itself our own, under any name', () => {
    expect(platformRules(config, 'fake', fakeChannel(new FakePlatform(), { isOwn: true }))?.isOwn).toBe(true);
    expect(platformRules(config, 'fake', fakeChannel(new FakePlatform(), { isOwn: false }))).toBeUndefined();
  });

  it('lets no one talk on a platform that is not configured, also under the name of our page', () => {
    for (const name of ['web', 'terminal', 'matrix', 'constructor', 'terminal.cwd'])
      expect(platformRules(config, name, undefined)).toBeUndefined();
  });

  it('joins the people allowed on a platform with those allowed everywhere', () => {
    expect(platformRules(config, 'telegram', undefined)).toMatchObject({ isOwn: false, allowedUsers: ['1', '3'], admins: ['2'] });
  });

  it('no channel driver declares itself our own', () => {
    const context = { secret: () => '1:a', log: () => undefined };
    const drivers: readonly ChannelDriver[] = channelDrivers;
    for (const driver of drivers) expect(driver.create(context, driver.options.parse({})).traits.isOwn).toBe(false);
  });
});
