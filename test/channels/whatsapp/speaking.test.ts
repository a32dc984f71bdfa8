import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { maxFileBytes } from '../../../src/channels/whatsapp/limits.ts';
import type { Channel } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { group } from '../../fakes/whatsapp/server.ts';
import { until } from '../../until.ts';
import { placeOf, type WhatsAppHarness, whatsappHarness } from './harness.ts';

let harness: WhatsAppHarness;
let channel: Channel;
let accepted: Accepted;
beforeEach(async () => {
  harness = await whatsappHarness();
  accepted = new Accepted();
  channel = harness.create();
  await channel.start(accepted.accept);
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100)]);

it('a text with an address and the number of a person has no preview and no mention, and nothing is fetched', async () => {
  const fetched = vi.spyOn(globalThis, 'fetch');
  await channel.send(harness.direct, { text: `see https://example.com/x and @${harness.server.bob.phone} @all` });
  const [sent] = harness.server.sent;
  // An empty list is what a reader makes of none.
  expect(Object.keys(sent?.message.extendedTextMessage ?? {}).filter((key) => key !== 'endCardTiles')).toEqual(['text']);
  expect(fetched).not.toHaveBeenCalled();
  fetched.mockRestore();
});

it('a group gets a message that its members can decrypt, and an edit and a removal of it', async () => {
  const id = await channel.send(harness.group, { text: 'to all' });
  await channel.edit?.(harness.group, id, { text: 'to all of you' });
  expect(harness.shown(harness.group)).toMatchObject([{ id, text: 'to all of you', versions: ['to all', 'to all of you'] }]);
  await channel.remove?.(harness.group, id);
  expect(harness.shown(harness.group)).toEqual([]);
});

it('a reply in a group names whose message it answers', async () => {
  const id = harness.userSays(harness.group, { text: 'question', mentionsUs: true });
  await accepted.message();
  await channel.send(harness.group, { text: 'answer', replyTo: id });
  const context = harness.server.sent[0]?.message.extendedTextMessage?.contextInfo;
  expect(context).toMatchObject({
    participant: harness.server.ada.lidJid,
    quotedMessage: { conversation: expect.stringContaining('question') },
  });
});

it('messages can be read that are sent after one of ours and one of theirs crossed each other', async () => {
  const { server } = harness;
  await channel.send(harness.direct, { text: 'hello' });
  await channel.stop();
  // A new program begins new sessions with those to whom it writes.
  channel = harness.create();
  await channel.start(accepted.accept);
  // Encrypted before ours arrives, and delivered after it.
  server.hold();
  harness.userSays(harness.direct, { text: 'crossing' });
  await channel.send(harness.direct, { text: 'crossed' });
  await server.deliverHeld();
  await accepted.message(({ text }) => text === 'crossing');
  await channel.send(harness.direct, { text: 'after it' });
  expect(server.unreadable).toEqual([]);
  expect(harness.shown(harness.direct).map(({ text }) => text)).toEqual(['hello', 'crossed', 'after it']);
});

it('a message goes out when its keys are kept, so that no key is used twice after a kill', async () => {
  const { server, notes } = harness;
  harness.userSays(harness.direct, { text: 'first' });
  await accepted.message();
  await channel.send(harness.direct, { text: 'one' });
  const disk = Promise.withResolvers<void>();
  const write = notes.write.bind(notes);
  let isWriting = false;
  notes.write = async (changes) => {
    if (Object.keys(changes).some((key) => key.startsWith('key:session:'))) {
      isWriting = true;
      await disk.promise;
    }
    await write(changes);
  };
  const sending = channel.send(harness.direct, { text: 'two' });
  await until('the keys are being written', () => isWriting);
  // What is sent before is read before.
  await channel.typing?.(harness.direct);
  await until('the server has taken everything', () => harness.typingShown(harness.direct) > 0);
  expect(server.sent).toHaveLength(1);
  disk.resolve();
  await sending;
  expect(harness.shown(harness.direct).map(({ text }) => text)).toEqual(['one', 'two']);
});

it('a message to a group that we are not in is refused', async () => {
  await expect(channel.send(placeOf('120363999999999999@g.us'), { text: 'hello' })).rejects.toMatchObject({ code: 'channel/refused' });
});

it.each(['', 'abc', '../x', '1@s.whatsapp.net', 'status@broadcast', '1@newsletter', 'lid:', 'lid:x', `${group}\n`, '0'.repeat(40)])(
  'the chat %j is refused without a word to WhatsApp',
  async (chat) => {
    await expect(channel.send(placeOf(chat), { text: 'hello' })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.server.sent).toEqual([]);
  },
);

it('a message under the same key has the same id, from this program and the next', async () => {
  const first = await channel.send(harness.direct, { text: 'once', key: 'k1' });
  expect(await channel.send(harness.direct, { text: 'once', key: 'k1' })).toBe(first);
  await channel.stop();
  channel = harness.create();
  await channel.start(accepted.accept);
  expect(await channel.send(harness.direct, { text: 'once', key: 'k1' })).toBe(first);
  expect(await channel.send(harness.direct, { text: 'twice', key: 'k2' })).not.toBe(first);
  expect(harness.shown(harness.direct).map(({ text }) => text)).toEqual(['once', 'twice']);
});

it('an edit that comes too late is refused, and one that the next program makes in time is not', async () => {
  const id = await channel.send(harness.direct, { text: 'one' });
  await channel.stop();
  channel = harness.create();
  await channel.start(accepted.accept);
  await channel.edit?.(harness.direct, id, { text: 'two' });
  expect(harness.shown(harness.direct)).toMatchObject([{ text: 'two' }]);
  await channel.stop();
  harness.notes.all.set(`sent:${id}`, String(Date.now() - 16 * 60_000));
  channel = harness.create();
  await channel.start(accepted.accept);
  await expect(channel.edit?.(harness.direct, id, { text: 'three' })).rejects.toMatchObject({ code: 'channel/refused' });
});

it.each([
  [463, 'channel/refused'],
  [479, 'channel/refused'],
  [500, 'channel/busy'],
] as const)('a message that WhatsApp answers with %i is %s', async (error, code) => {
  harness.server.fail('send', { error });
  await expect(channel.send(harness.direct, { text: 'one' })).rejects.toMatchObject({ code });
});

it('a picture is sent as a picture, and everything else as a document with its name', async () => {
  await channel.send(harness.direct, { text: 'look', file: { name: 'a.png', data: png } });
  await channel.send(harness.direct, { text: '', file: { name: 'a.pdf', data: Buffer.from('%PDF-1.7') } });
  const [picture, document] = harness.server.sent.map(({ message }) => message);
  expect(picture?.imageMessage).toMatchObject({ caption: 'look', mimetype: 'image/png' });
  expect(document?.documentMessage).toMatchObject({ fileName: 'a.pdf', mimetype: 'application/pdf' });
  expect(harness.shown(harness.direct).map(({ file }) => file?.data.length)).toEqual([png.length, 8]);
});

it('a file of a message is fetched by its path alone, whatever address the message names', async () => {
  harness.userSays(harness.direct, { text: 'a file', file: { name: 'a', data: Buffer.from('content') } });
  const [file] = (await accepted.message()).files;
  if (!file) throw new Error('no file');
  expect(file.id).not.toContain('elsewhere');
  expect(String(await channel.fetchFile(file, 100))).toBe('content');
  const [kind, , ...keys] = JSON.parse(file.id) as string[];
  for (const path of ['//evil.example/x', '/\\evil.example/x', 'https://evil.example/x', '@evil.example', '', 'x']) {
    const id = JSON.stringify([kind, path, ...keys]);
    await expect(channel.fetchFile({ ...file, id }, 100)).rejects.toMatchObject({ code: 'channel/refused' });
  }
});

it('a file that was changed on its way is refused', async () => {
  harness.userSays(harness.direct, { text: 'a file', file: { name: 'a', data: Buffer.from('content') } });
  const [file] = (await accepted.message()).files;
  if (!file) throw new Error('no file');
  for (const [path, body] of harness.server.files)
    harness.server.files.set(path, Buffer.from(body.map((byte, index) => (index === 0 ? byte ^ 1 : byte))));
  await expect(channel.fetchFile(file, 100)).rejects.toMatchObject({ code: 'channel/refused' });
});

it.each(['', '{}', '[]', '["image"]', '["x","/a","","",""]', '["image","/a","AA==","",""]'])('the file %j is refused', async (id) => {
  await expect(channel.fetchFile({ id, name: 'a', mimeType: undefined, bytes: undefined }, maxFileBytes)).rejects.toMatchObject({
    code: 'channel/refused',
  });
});
