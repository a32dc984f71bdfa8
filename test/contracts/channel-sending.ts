import { expect, it } from 'vitest';
import { until } from '../until.ts';
import type { ChannelRig } from './channel-harness.ts';

export function sendingContract(rig: ChannelRig): void {
  it('returns the id of each sent message', async () => {
    const { harness, channel } = rig;
    await rig.start();
    const first = await channel.send(harness.direct, { text: 'one' });
    const second = await channel.send(harness.direct, { text: 'two' });
    expect(harness.shown(harness.direct)).toMatchObject([
      { id: first, text: 'one' },
      { id: second, text: 'two' },
    ]);
    expect(harness.shown(harness.otherDirect)).toEqual([]);
  });

  it('sends a message before the channel listens', async () => {
    const { harness, channel } = rig;
    await channel.send(harness.direct, { text: 'only this' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'only this' }]);
  });

  it('replies to a message, and sends the text without a reply when that message is gone', async () => {
    const { harness, channel, accepted } = rig;
    await rig.start();
    const id = harness.userSays(harness.direct, { text: 'question' });
    await accepted.message();
    await channel.send(harness.direct, { text: 'answer', replyTo: id });
    await channel.send(harness.direct, { text: 'to nothing', replyTo: '987654' });
    const replyTo = harness.hasReplies === false ? undefined : id;
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'answer', replyTo }, { text: 'to nothing' }]);
  });

  it('edits a message in place and accepts an edit that changes nothing', async (context) => {
    const { harness, channel } = rig;
    if (!channel.edit) return context.skip('the platform cannot edit');
    await rig.start();
    const id = await channel.send(harness.direct, { text: 'one' });
    await channel.edit(harness.direct, id, { text: 'one two' });
    await channel.edit(harness.direct, id, { text: 'one two' });
    await channel.edit(harness.direct, id, { text: 'one two three' });
    expect(harness.shown(harness.direct)).toMatchObject([{ id, text: 'one two three', versions: ['one', 'one two', 'one two three'] }]);
  });

  it('removes a message, and accepts that it is already gone', async (context) => {
    const { harness, channel } = rig;
    if (!channel.remove) return context.skip('the platform removes no messages');
    await rig.start();
    const id = await channel.send(harness.direct, { text: 'one', isQuiet: true });
    await channel.send(harness.direct, { text: 'two' });
    await channel.remove(harness.direct, id);
    await channel.remove(harness.direct, id);
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'two' }]);
  });

  it('shows buttons, reports who pressed them and removes them', async (context) => {
    const { harness, channel, accepted } = rig;
    if (!channel.traits.buttons) return context.skip('the platform has no buttons');
    await rig.start();
    const data = `a:${'0'.repeat(62)}`;
    const buttons = [
      [
        { label: 'Allow', data },
        { label: 'Deny', data: 'd' },
      ],
      [{ label: 'Always', data: 'e' }],
    ];
    const id = await channel.send(harness.direct, { text: 'May I?', buttons });
    expect(harness.shown(harness.direct)[0]?.buttons).toEqual(buttons.flat());
    harness.userPresses(harness.direct, id, data);
    const press = await until('the press is accepted', () => accepted.all.find((one) => one.kind === 'press'));
    expect(press).toMatchObject({ kind: 'press', place: harness.direct, data, message: id, from: { id: expect.stringMatching(/./) } });
    await channel.noticed?.(press, 'Allowed.');
    expect(harness.noticesShown()).toEqual(['Allowed.']);
    await channel.noticed?.(press, 'Once more');
    await channel.edit?.(harness.direct, id, { text: 'Allowed.' });
    if (channel.edit) expect(harness.shown(harness.direct)).toMatchObject([{ text: 'Allowed.', buttons: [] }]);
  });

  it('gives each press of a button an id of its own', async (context) => {
    const { harness, channel, accepted } = rig;
    if (!channel.traits.buttons) return context.skip('the platform has no buttons');
    await rig.start();
    const id = await channel.send(harness.direct, { text: 'May I?', buttons: [[{ label: 'Yes', data: 'y' }]] });
    harness.userPresses(harness.direct, id, 'y');
    harness.userPresses(harness.direct, id, 'y');
    harness.userSays(harness.direct, { text: 'yes' });
    await until('all are accepted', () => accepted.all.length === 3);
    expect(new Set(accepted.all.map((one) => one.id)).size).toBe(3);
  });

  it('shows that the bot is typing', async (context) => {
    const { harness, channel, accepted } = rig;
    if (!channel.typing) return context.skip('the platform cannot show it');
    await rig.start();
    // On some platforms it is an answer to a message.
    harness.userSays(harness.direct, { text: 'are you there?' });
    await accepted.message();
    await channel.typing(harness.direct);
    await until('it is shown', () => harness.typingShown(harness.direct) === 1);
  });

  it('sends a file with a text beside it', async (context) => {
    const { harness, channel } = rig;
    if (channel.traits.maxFileBytes === 0) return context.skip('the platform takes no files');
    await rig.start();
    const data = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7) % 256));
    const id = await channel.send(harness.direct, { text: 'The **result**', file: { name: 'result.bin', data } });
    const [shown] = harness.shown(harness.direct);
    expect(shown).toMatchObject({ id, text: expect.stringContaining('result'), file: { name: 'result.bin' } });
    expect(Buffer.from(shown?.file?.data ?? []).equals(data)).toBe(true);
    await channel.send(harness.direct, { text: '', file: { name: 'silent.txt', data: Buffer.from('x') } });
    expect(harness.shown(harness.direct)[1]).toMatchObject({ text: '', file: { name: 'silent.txt' } });
  });

  it('refuses a file that is too large without sending it', async (context) => {
    const { harness, channel } = rig;
    const { maxFileBytes } = channel.traits;
    if (maxFileBytes === 0 || maxFileBytes > 200_000_000) return context.skip('it takes none, or very large ones');
    await rig.start();
    const file = { name: 'large.bin', data: new Uint8Array(maxFileBytes + 1) };
    await expect(channel.send(harness.direct, { text: 'large', file })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.shown(harness.direct)).toEqual([]);
  });

  it('sends every text up to the length that it declares', async () => {
    const { harness, channel } = rig;
    await rig.start();
    const { maxTextLength, maxCaptionLength = maxTextLength } = channel.traits;
    const fill = (unit: string) => unit.repeat(Math.floor(maxTextLength / unit.length)).padEnd(maxTextLength, 'x');
    const units = [
      'a',
      '<',
      '&',
      '&amp;',
      '*a* ',
      '- x\n',
      '> y\n',
      '😀',
      '`c` ',
      '[a](https://x.y) ',
      '# h\n',
      '|a|b|\n',
      '```\nc\n```\n',
    ];
    for (const unit of units) await channel.send(harness.direct, { text: fill(unit) });
    expect(harness.shown(harness.direct)).toHaveLength(units.length);
    if (channel.traits.maxFileBytes === 0) return;
    for (const unit of ['a', '&', '*a* ', '😀']) {
      await channel.send(harness.direct, { text: fill(unit).slice(0, maxCaptionLength), file: { name: 'a.txt', data: Buffer.from('a') } });
    }
    expect(harness.shown(harness.direct)).toHaveLength(units.length + 4);
  });

  it.each([
    ['busy', 'channel/busy'],
    ['cut', 'channel/unanswered'],
  ] as const)('reports whether the platform may have received a message that failed: %s', async (failure, code) => {
    const { harness, channel } = rig;
    await rig.start();
    harness.failSend(failure);
    await expect(channel.send(harness.direct, { text: 'one' })).rejects.toMatchObject({ code });
    await channel.send(harness.direct, { text: 'two' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'two' }]);
  });

  it('reports how long to wait when the platform says so', async () => {
    const { harness, channel } = rig;
    await rig.start();
    harness.failSend({ retryAfterSeconds: 7 });
    await expect(channel.send(harness.direct, { text: 'one' })).rejects.toMatchObject({ code: 'channel/busy', retryAfterMs: 7000 });
    if (!channel.edit) return;
    const id = await channel.send(harness.direct, { text: 'one' });
    harness.failEdit({ retryAfterSeconds: 3 });
    await expect(channel.edit(harness.direct, id, { text: 'two' })).rejects.toMatchObject({ code: 'channel/busy', retryAfterMs: 3000 });
  });

  it('reports a message that the platform will never accept as refused', async () => {
    const { harness, channel } = rig;
    await rig.start();
    harness.failSend('refused');
    await expect(channel.send(harness.direct, { text: 'one' })).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(
      channel.edit?.(harness.direct, '424242', { text: 'x' }) ?? Promise.reject({ code: 'channel/refused' }),
    ).rejects.toMatchObject({
      code: 'channel/refused',
    });
  });

  it('reports why a file could not be fetched', async () => {
    const { harness, channel, accepted } = rig;
    await rig.start();
    harness.userSays(harness.direct, { text: 'a file', file: { name: 'a', data: Buffer.from('content') } });
    const [file] = (await accepted.message()).files;
    if (!file) throw new Error('no file');
    for (const failure of ['busy', 'cut'] as const) {
      harness.failFetch(failure);
      await expect(channel.fetchFile(file, 100)).rejects.toMatchObject({ code: 'channel/busy' });
    }
    harness.failFetch('refused');
    await expect(channel.fetchFile(file, 100)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(String(await channel.fetchFile(file, 100))).toBe('content');
  });

  it('stops sending when the caller aborts', async () => {
    const { harness, channel } = rig;
    await rig.start();
    const given = new AbortController();
    given.abort(new Error('no longer wanted'));
    await expect(channel.send(harness.direct, { text: 'one' }, given.signal)).rejects.toThrow('no longer wanted');
    expect(harness.shown(harness.direct)).toEqual([]);
  });
}
