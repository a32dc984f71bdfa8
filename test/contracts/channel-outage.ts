import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { type ChannelRig, everythingIn } from './channel-harness.ts';

export function outageContract(rig: ChannelRig): void {
  it('reports that the channel is up after its start', async () => {
    expect(rig.channel.state.kind).not.toBe('up');
    await rig.start();
    expect(rig.channel.state.kind).toBe('up');
  });

  it('reports why it is down, reconnects by itself and delivers what was sent meanwhile', async () => {
    const { harness, channel, accepted } = rig;
    await rig.start();
    await harness.goDown();
    const down = await until('it is down', () => (channel.state.kind === 'down' ? channel.state : undefined));
    expect(down.reason).toMatch(/\w/);
    harness.userSays(harness.direct, { text: 'said meanwhile' });
    await harness.comeUp();
    expect(await accepted.message()).toMatchObject({ text: 'said meanwhile' });
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('starts during an outage and delivers messages when it is over', async () => {
    const { harness, channel, accepted } = rig;
    harness.userSays(harness.direct, { text: 'early' });
    await harness.goDown();
    await rig.start();
    expect(channel.state.kind).toBe('down');
    await harness.comeUp();
    expect(await accepted.message()).toMatchObject({ text: 'early' });
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('refuses a message as busy during an outage, while typing and notices do not fail', async () => {
    const { harness, channel } = rig;
    await rig.start();
    await harness.goDown();
    await expect(channel.send(harness.direct, { text: 'one' })).rejects.toMatchObject({ code: 'channel/busy' });
    await channel.typing?.(harness.direct);
    const from = { id: '1', name: 'Ada' };
    await channel.noticed?.({ kind: 'press', id: 'press:1', place: harness.direct, from, at: new Date(), data: 'x', message: '1' });
    await harness.comeUp();
  });

  it('stops cleanly during an outage', async () => {
    const { harness, channel } = rig;
    await rig.start();
    await harness.goDown();
    await until('it is down', () => channel.state.kind === 'down');
    await channel.stop();
    expect(channel.state.kind).toBe('stopped');
    await harness.comeUp();
  });

  it('refuses to start with a wrong token', async () => {
    const channel = rig.harness.createWithWrongToken();
    await expect(channel.start(rig.accepted.accept)).rejects.toMatchObject({
      code: 'channel/unusable',
      hint: expect.stringMatching(/\w/),
    });
    expect(channel.state).toMatchObject({ kind: 'down', reason: expect.stringMatching(/\w/) });
    await channel.stop();
    expect(channel.state.kind).toBe('stopped');
  });

  it('keeps its token out of every error, state and log line', async () => {
    const { harness, channel, accepted } = rig;
    await rig.start();
    harness.userSays(harness.direct, { text: 'a file', file: { name: 'a', data: Buffer.from('content') } });
    const [file] = (await accepted.message()).files;
    if (!file) throw new Error('no file');
    const errors: unknown[] = [];
    const collect = async (work: Promise<unknown>): Promise<void> => {
      errors.push(
        await work.then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
    };
    for (const failure of ['busy', 'cut', 'refused', { retryAfterSeconds: 1 }] as const) {
      harness.failSend(failure);
      await collect(channel.send(harness.direct, { text: 'one' }));
      harness.failFetch(failure);
      await collect(channel.fetchFile(file, 100));
    }
    await harness.goDown();
    await collect(channel.send(harness.direct, { text: 'one' }));
    await collect(channel.fetchFile(file, 100));
    await collect(harness.createWithWrongToken().start(accepted.accept));
    await until('it is down', () => channel.state.kind === 'down');
    expect(errors.filter((error) => error !== undefined).length).toBeGreaterThan(8);
    expect(errors.map(everythingIn).join('\n')).not.toContain(harness.secret);
    expect(JSON.stringify(channel.state)).not.toContain(harness.secret);
    expect(harness.log.join('\n')).not.toContain(harness.secret);
    await harness.comeUp();
  });
}
