import { expect, it } from 'vitest';
import { baileysVersion, loadBaileys } from '../../../src/channels/whatsapp/baileys.ts';
import { whatsapp } from '../../../src/channels/whatsapp/index.ts';

it('without Baileys, the error names the version to install and how', async () => {
  await expect(loadBaileys(async () => undefined)).rejects.toMatchObject({
    code: 'channel/unusable',
    message: expect.stringContaining('not installed'),
    hint: expect.stringContaining(`npm install baileys@${baileysVersion}`),
  });
});

it.each(['6.17.16', '7.0.0-rc13', '7.0.0'])('Baileys %s is refused', async (version) => {
  await expect(loadBaileys(async () => version)).rejects.toMatchObject({
    code: 'channel/unusable',
    hint: expect.stringContaining(baileysVersion),
  });
});

it('hermetic setup says that Baileys is there, and what to do next', async () => {
  const { check, next, fields } = await whatsapp.setup();
  expect(fields).toEqual([]);
  expect(await check({ secret: () => '', options: {} })).toBe(`Baileys ${baileysVersion} is installed.`);
  expect(next).toContain('QR code');
});

it.each(['12', '+49 170', 'abc', '0170123456', '+'])('%j is no phone number to link with', (number) => {
  expect(whatsapp.options.safeParse({ pair_with: number }).success).toBe(false);
});
