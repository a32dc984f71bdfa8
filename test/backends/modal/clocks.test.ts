import { expect, it } from 'vitest';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { quietly, run, startModal, wishFor } from './rig.ts';

describeNeeding(['machines'], 'the clocks of Modal', async () => {
  const { fake, provider } = await startModal();
  const day = 24 * 3600;

  async function endedBy(seconds: number, reference: string): Promise<string> {
    fake.passTime(seconds);
    await until('Modal has ended it', async () => (await provider.state(reference)) === 'gone');
    const attaching = provider.attach(reference)(['true']);
    await expect(attaching).rejects.toMatchObject({ code: 'sandbox/lost' });
    return await attaching.then(
      () => '',
      (error: Error) => error.message,
    );
  }

  it('Modal ends a sandbox that no program uses, and a program that comes later is told so', async () => {
    const reference = await provider.create(wishFor({ idleSeconds: 1800 }), quietly);
    fake.passTime(1700);
    expect(await provider.state(reference)).toBe('running');
    expect(await endedBy(200, reference)).toBe('The sandbox has ended at Modal: it was idle for too long.');
  });

  it('Modal ends a sandbox that is a day old, and a program that comes later is told so', async () => {
    const reference = await provider.create(wishFor({ idleSeconds: 2 * day }), quietly);
    expect(await endedBy(day, reference)).toMatch(/longest lifetime was over/);
  });

  it('Modal does not end a sandbox as idle while a command runs in it that prints nothing', async () => {
    const reference = await provider.create(wishFor({ idleSeconds: 60 }), quietly);
    const attach = provider.attach(reference);
    const command = await attach(['bash', '-c', 'read -r _; echo still here']);
    fake.passTime(3600);
    expect((await run(attach, 'echo another one')).stdout.toString()).toBe('another one\n');
    command.stdin.end('\n');
    expect(Buffer.concat((await command.stdout.toArray()) as Buffer[]).toString()).toBe('still here\n');
    await provider.remove(reference);
  });
});
