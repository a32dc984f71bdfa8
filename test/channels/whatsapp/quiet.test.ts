import { expect, it, vi } from 'vitest';
import { Accepted } from '../../contracts/channel-harness.ts';
import { until } from '../../until.ts';

const methods = ['log', 'info', 'warn', 'error'] as const;

it('nothing is printed of the keys that the library below Baileys prints, and everything else still is', async () => {
  const printed: unknown[][] = [];
  const before = methods.map((method) => console[method]);
  // Below what is tested, which begins anew.
  for (const method of methods) console[method] = (...given) => void printed.push(given);
  vi.resetModules();
  const { quietly } = await import('../../../src/channels/whatsapp/quiet.ts');
  const { whatsappHarness } = await import('./harness.ts');
  const harness = await whatsappHarness();
  const accepted = new Accepted();
  const channel = harness.create();
  try {
    await channel.start(accepted.accept);
    harness.userSays(harness.direct, { text: 'one' });
    await accepted.message();
    // Begins a new session: the library prints the one that it closes.
    harness.server.forgetSessions();
    harness.userSays(harness.direct, { text: 'two' });
    await accepted.message(({ text }) => text === 'two');
    await channel.send(harness.direct, { text: 'answer' });
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    expect(printed).toEqual([]);
    quietly(() => console.info('a key'));
    console.info('in the clear');
    expect(printed).toEqual([['in the clear']]);
  } finally {
    await channel.stop();
    await harness.close();
    methods.forEach((method, index) => {
      console[method] = before[index] ?? console[method];
    });
  }
});
