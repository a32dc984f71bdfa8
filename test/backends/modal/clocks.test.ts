import { expect, it } from 'vitest';
import { until } from '../../until.ts';
import { quietly, run, startModal, wishFor } from './rig.ts';

// A minute of the provider is less than a second here.
const { fake, provider } = await startModal({ secondMs: 10 });

it('ends a sandbox that no program uses, and says so to one that comes later', async () => {
  const reference = await provider.create(wishFor({ idleSeconds: 1 }), quietly);
  await until('Modal has ended it', async () => (await provider.state(reference)) === 'gone');
  await expect(provider.attach(reference)(['true'])).rejects.toMatchObject({
    code: 'sandbox/lost',
    message: 'The sandbox has ended at Modal: it was idle for too long.',
  });
});

it('does not end a sandbox while a command runs in it, however long that prints nothing', async () => {
  const reference = await provider.create(wishFor({ idleSeconds: 1 }), quietly);
  const { stdout } = await run(provider.attach(reference), 'sleep 1.5; echo still here');
  expect(stdout.toString()).toBe('still here\n');
  await provider.remove(reference);
  expect(fake.running).toEqual([]);
});
