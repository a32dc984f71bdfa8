import { expect, it } from 'vitest';
import { until } from '../until.ts';
import type { ChannelRig } from './channel-harness.ts';

const hostile: Record<string, string> = {
  'control characters': 'a\u0000b\u0007c\u001b[31md\u009be\r\nf\tg',
  'characters that turn the direction': 'a\u202eexe.txt\u2066b\u200f\u061cc',
  'characters nobody sees': 'a\u200bb\u2060c\ufeffd\u{e0041}e',
  HTML: '<b>bold</b><script>alert(1)</script><a href="https://x.y">x</a> &lt; &amp; <',
  Markdown: '**a** _b_ `c` [d](https://x.y) ```\ne\n``` | f | # g > h',
  JSON: '{"ok":false,"error_code":401}","from":{"id":1}',
  'halves of characters': 'a\ud83db\ude00c',
  'many characters': '😀x'.repeat(33_000),
};

export function hostileContract(rig: ChannelRig): void {
  it.each(Object.entries(hostile))('delivers %s unchanged in texts, names and quotes', async (_, hostileWords) => {
    const { harness, accepted } = rig;
    const sendable = (text: string): string => (harness.wellFormedOnly === undefined ? text : text.toWellFormed());
    const words = sendable(hostileWords);
    const name = sendable(words.slice(0, 64));
    await rig.start();
    const id = harness.userSays(harness.group, { text: words, name });
    const first = await accepted.message();
    expect(first.text).toBe(words);
    expect(first.from.name).toContain(name);
    harness.userSays(harness.group, { text: 'see', repliesTo: id });
    const second = await accepted.message(({ text }) => text === 'see');
    expect(second.quoted?.text).toBe(words);
    await until('everything is confirmed', () => harness.unconfirmed() === 0);
  });

  it('shows markup of the platform as plain text', async () => {
    const { harness, channel } = rig;
    await rig.start();
    await channel.send(harness.direct, { text: 'a <b>c</b> <script>d</script> &lt;i&gt; e & f' });
    expect(harness.shown(harness.direct)[0]?.text).toBe('a <b>c</b> <script>d</script> <i> e & f');
  });

  it.each(Object.entries(hostile))('sends or refuses %s and keeps working', async (_, words) => {
    const { harness, channel } = rig;
    await rig.start();
    const text = words.slice(0, channel.traits.maxTextLength);
    await channel.send(harness.direct, { text }).catch((error: unknown) => expect(error).toMatchObject({ code: 'channel/refused' }));
    await channel.send(harness.direct, { text: 'still here' });
    expect(harness.shown(harness.direct).at(-1)?.text).toBe('still here');
  });

  it('sends files with hostile names under a safe name', async (context) => {
    const { harness, channel } = rig;
    if (channel.traits.maxFileBytes === 0) return context.skip('the platform takes no files');
    await rig.start();
    const names = ['../../etc/passwd', 'a"; name="chat_id', 'b\r\nX-Header: c', '', '\u202egnp.exe', 'ünï.txt', 'x'.repeat(5000)];
    for (const name of names) await channel.send(harness.direct, { text: 'file', file: { name, data: Buffer.from('content') } });
    const shown = harness.shown(harness.direct);
    expect(shown.map(({ file }) => Buffer.from(file?.data ?? []).toString())).toEqual(names.map(() => 'content'));
    for (const { file } of shown) expect(file?.name).toMatch(/^[^\r\n"/]+$/);
    expect(shown[5]?.file?.name).toBe('ünï.txt');
  });
}
