import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { whatsAppCloud } from '../../../src/channels/whatsapp-cloud/index.ts';
import { setup } from '../../../src/channels/whatsapp-cloud/setup.ts';
import { business } from '../../fakes/whatsapp-cloud/world.ts';
import { type WhatsAppCloudHarness, whatsAppCloudHarness } from './harness.ts';

let harness: WhatsAppCloudHarness;
beforeEach(async () => {
  harness = await whatsAppCloudHarness();
});
afterEach(() => harness.close());

const problemWith = (option: string, value: string) => setup.fields.find((field) => field.option === option)?.problem?.(value);

describe('setting WhatsApp Cloud up', () => {
  it('says which number it is', async () => {
    const values = { secret: () => harness.cloud.token, options: harness.section };
    expect(await setup.check(values)).toBe(`The number is ${business.number}, called ${business.name}.`);
  });

  it('rejects a wrong token without repeating it', async () => {
    const values = { secret: () => `${harness.cloud.token}x`, options: harness.section };
    await expect(setup.check(values)).rejects.toMatchObject({
      code: 'channel/unusable',
      message: expect.not.stringContaining(harness.cloud.token),
      hint: expect.stringContaining('whatsapp_business_messaging'),
    });
  });

  it('asks for every secret and for the number', () => {
    expect(setup.fields.map(({ option }) => option).toSorted()).toEqual([...whatsAppCloud.secrets, 'phone_number_id'].toSorted());
  });

  it.each([
    ['phone_number_id', '106540352242922', '+1 555 078 3881'],
    ['token_env', 'EAAG0123456789abcdefghijk', 'EAAG 0123 4567 89ab cdef'],
    ['app_secret_env', '0123456789abcdef0123456789abcdef', '0123'],
    ['verify_token_env', 'long-enough-word', 'short'],
  ])('notices what cannot be a %s', (option, right, wrong) => {
    expect(problemWith(option, right)).toBeUndefined();
    expect(problemWith(option, wrong)).toMatch(/\w/);
  });

  it.each(['106540352242922', 106_540_352_242_922])('takes the id of the number as %j', (id) => {
    expect(whatsAppCloud.options.parse({ phone_number_id: id }).phone_number_id).toBe('106540352242922');
  });

  it.each([
    { phone_number_id: '../me' },
    { phone_number_id: -1 },
    { webhook_path: 'whatsapp' },
    { webhook_path: '/a?b' },
    { webhook_port: 0 },
  ])('refuses the options %j', (options) => {
    expect(whatsAppCloud.options.safeParse(options).success).toBe(false);
  });
});
