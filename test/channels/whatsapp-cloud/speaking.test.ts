import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Channel, type IncomingFile, type IncomingPress, reactionPrefix } from '../../../src/core/channel.ts';
import { Accepted, everythingIn } from '../../contracts/channel-harness.ts';
import { ada, bob } from '../../fakes/whatsapp-cloud/world.ts';
import { placeOf, type WhatsAppCloudHarness, whatsAppCloudHarness } from './harness.ts';

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
let harness: WhatsAppCloudHarness;
let channel: Channel;

beforeEach(async () => {
  harness = await whatsAppCloudHarness();
  channel = harness.create();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const sent = () => harness.cloud.world.sent;
const buttons = (count: number) => [Array.from({ length: count }, (_, index) => ({ label: `Answer ${index}`, data: `q:${index}` }))];

describe('messages', () => {
  it('sends a text in the markup of WhatsApp without a link preview', async () => {
    await channel.send(harness.direct, { text: '**bold** [link](https://example.org/?secret=1)' });
    expect(sent()[0]?.body).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: ada.id,
      type: 'text',
      text: { body: '*bold* link (https://example.org/?secret=1)', preview_url: false },
    });
  });

  it('sends the text without a reply when Meta does not know the message', async () => {
    await channel.send(harness.direct, { text: 'one', replyTo: 'wamid.gone' });
    expect(sent()).toMatchObject([{ text: 'one', replyTo: undefined }]);
    expect(harness.cloud.calls.map(({ body }) => 'context' in body)).toEqual([true, false]);
  });

  it.each(['', '12', '+491701234567', '49170 1234567', '../me', 'US.', 'us.1', '120363@g.us'])('sends nothing to %j', async (id) => {
    await expect(channel.send(placeOf({ id, name: '' }), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.cloud.calls).toEqual([]);
  });

  it('refuses a blank message', async () => {
    await expect(channel.send(harness.direct, { text: ' \n' })).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('knows that it is unknown what became of a message whose answer cannot be read', async () => {
    harness.cloud.fail('send', { status: 200, text: '<html>' }, { status: 200, text: '{"messages":[]}' }, { status: 504 });
    for (const _ of [1, 2, 3])
      await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/unanswered' });
  });
});

describe('errors of Meta', () => {
  it.each([
    [4, 'channel/busy'],
    [80_007, 'channel/busy'],
    [130_429, 'channel/busy'],
    [131_048, 'channel/busy'],
    [131_056, 'channel/busy'],
    [2, 'channel/busy'],
    [131_000, 'channel/busy'],
    [131_016, 'channel/busy'],
    [0, 'channel/busy'],
    [10, 'channel/busy'],
    [190, 'channel/busy'],
    [200, 'channel/busy'],
    [368, 'channel/busy'],
    [131_031, 'channel/busy'],
    [131_042, 'channel/busy'],
    [100, 'channel/refused'],
    [131_009, 'channel/refused'],
    [131_026, 'channel/refused'],
    [131_030, 'channel/refused'],
    [131_047, 'channel/refused'],
    [131_051, 'channel/refused'],
    [999_999, 'channel/refused'],
  ])('code %d means %s', async (code, meaning) => {
    harness.cloud.fail('send', { status: 400, code });
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({
      code: meaning,
      message: expect.stringContaining(String(code)),
    });
  });

  it('says in words that 24 hours have passed', async () => {
    harness.cloud.fail('send', { status: 400, code: 131_047 });
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toThrow(
      /more than 24 hours have passed since this person last wrote/,
    );
  });

  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '99999999' }, 86_400_000],
    [{ 'retry-after': 'tomorrow' }, undefined],
    [{ 'x-business-use-case-usage': '{"1":[{"type":"x","estimated_time_to_regain_access":3}]}' }, 180_000],
    [{ 'x-business-use-case-usage': '{"1":[{"type":"x","estimated_time_to_regain_access":0}]}' }, undefined],
    [{}, undefined],
  ])('takes from the headers %j how long to wait', async (headers, retryAfterMs) => {
    harness.cloud.fail('send', { status: 400, code: 80_007, headers: headers as Record<string, string> });
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy', retryAfterMs });
  });

  it.each([
    [131_056, true],
    [130_429, false],
  ])('tells too many messages to one person from too many in all: %i', async (code, isOfPlace) => {
    harness.cloud.fail('send', { status: 400, code });
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy', isOfPlace });
  });

  it('keeps the token out of an error that Meta quotes it in', async () => {
    const wrong = harness.createWithWrongToken();
    const error = await wrong.send(harness.direct, { text: 'x' }).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'channel/busy', hint: expect.stringContaining('token_env') });
    expect(everythingIn(error)).not.toContain(harness.secret);
  });
});

describe('answers to choose from', () => {
  it('shows up to three as reply buttons', async () => {
    await channel.send(harness.direct, { text: '**May I?**', buttons: buttons(3) });
    expect(sent()[0]?.body).toMatchObject({
      type: 'interactive',
      interactive: {
        type: 'button',
        body: { text: '*May I?*' },
        action: { buttons: [{ type: 'reply', reply: { id: 'q:0', title: 'Answer 0' } }, {}, {}] },
      },
    });
  });

  it('shows more as a list', async () => {
    await channel.send(harness.direct, { text: 'May I?', buttons: buttons(4) });
    expect(sent()[0]?.body.interactive).toMatchObject({
      type: 'list',
      action: { button: 'Answer', sections: [{ rows: [{}, {}, {}, {}] }] },
    });
    expect(sent()[0]?.buttons).toEqual(buttons(4).flat());
  });

  it('shows those to a long question as a list, which has more room', async () => {
    const text = 'x'.repeat(4096);
    await channel.send(harness.direct, { text, buttons: buttons(2) });
    expect(sent()).toMatchObject([{ text, body: { interactive: { type: 'list' } } }]);
  });

  it('cuts labels that are too long, and no character into halves', async () => {
    await channel.send(harness.direct, {
      text: 'x',
      buttons: [
        [
          { label: `${'a'.repeat(19)}😀b`, data: 'a' },
          { label: '', data: 'b' },
        ],
      ],
    });
    expect(sent()[0]?.buttons.map(({ label }) => label)).toEqual(['a'.repeat(19), '…']);
  });

  it('refuses more than a list can show', async () => {
    await expect(channel.send(harness.direct, { text: 'x', buttons: buttons(11) })).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('sends a file before the answers, and not again when only the answers have to be', async () => {
    const file = { name: 'question.txt', data: Buffer.from('all of it') };
    const message = { text: 'May I?', buttons: buttons(4), file, key: 'question/1' };
    harness.cloud.fail('send', { cut: 'before' });
    await expect(channel.send(harness.direct, message)).rejects.toMatchObject({ code: 'channel/unanswered' });
    expect(sent()).toEqual([]);
    harness.cloud.fail('send', { passes: true }, { status: 503, code: 131_016 });
    await expect(channel.send(harness.direct, message)).rejects.toMatchObject({ code: 'channel/busy' });
    const id = await channel.send(harness.direct, message);
    expect(sent()).toMatchObject([
      { text: '', file: { name: 'question.txt' }, buttons: [] },
      { id, text: 'May I?', buttons: buttons(4).flat() },
    ]);
  });

  it('sends no file whose answers cannot be shown', async () => {
    const message = { text: 'May I?', buttons: buttons(11), file: { name: 'a.txt', data: Buffer.from('a') } };
    await expect(channel.send(harness.direct, message)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.cloud.calls).toEqual([]);
  });

  it('answers a press, or a reaction, with a message that quotes it', async () => {
    const accepted = new Accepted();
    await channel.start(accepted.accept);
    const id = await channel.send(harness.direct, { text: 'May I?', buttons: buttons(2) });
    const press: Omit<IncomingPress, 'id' | 'data'> = { kind: 'press', place: harness.direct, from: ada, at: new Date(), message: id };
    const said = harness.userSays(harness.direct, { text: 'stands for a press' });
    await accepted.message();
    await channel.noticed?.({ ...press, id: said, data: 'q:1' }, 'This button has expired.');
    await channel.noticed?.({ ...press, id: 'wamid.reaction', data: `${reactionPrefix}👍` }, 'Answer recorded.');
    await channel.noticed?.({ ...press, id: said, data: 'q:1' });
    expect(sent().slice(1)).toMatchObject([
      { text: 'This button has expired.', replyTo: said },
      { text: 'Answer recorded.', replyTo: id },
    ]);
  });
});

describe('typing', () => {
  it('is shown as an answer to the last message, and not again while it is shown', async () => {
    const accepted = new Accepted();
    await channel.start(accepted.accept);
    await channel.typing?.(harness.direct);
    expect(harness.cloud.calls.filter(({ name }) => name === 'send')).toEqual([]);
    harness.userSays(harness.direct, { text: 'one' });
    const last = harness.userSays(harness.direct, { text: 'two' });
    await accepted.message(({ text }) => text === 'two');
    for (const _ of [1, 2, 3]) await channel.typing?.(harness.direct);
    await channel.typing?.(harness.otherDirect);
    const calls = harness.cloud.calls.filter(({ name }) => name === 'send').map(({ body }) => body);
    expect(calls).toEqual([{ messaging_product: 'whatsapp', status: 'read', message_id: last, typing_indicator: { type: 'text' } }]);
    // A message ends it.
    await channel.send(harness.direct, { text: 'wait' });
    await channel.typing?.(harness.direct);
    expect(harness.typingShown(harness.direct)).toBe(2);
  });
});

describe('files that we send', () => {
  it('sends a picture as an image', async () => {
    await channel.send(harness.direct, { text: '*plot*', file: { name: 'plot.png', data: png } });
    expect(sent()).toMatchObject([{ text: '_plot_', body: { type: 'image' }, file: { type: 'image/png', data: new Uint8Array(png) } }]);
  });

  it('sends a picture that is too large for an image as a document', async () => {
    const data = Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)]);
    await channel.send(harness.direct, { text: '', file: { name: 'plot.png', data } });
    expect(sent()).toMatchObject([{ body: { type: 'document', document: { filename: 'plot.png' } } }]);
  });

  it.each([
    ['a.pdf', Buffer.from('%PDF-1.7'), 'application/pdf'],
    ['a.zip', Buffer.from('PK\x03\x04'), 'text/plain'],
    ['a.txt', Buffer.from('hello'), 'text/plain'],
  ])('sends %s as a document of a type that Meta takes', async (name, data, type) => {
    await channel.send(harness.direct, { text: '', file: { name, data } });
    expect(sent()).toMatchObject([{ file: { name, type } }]);
  });

  it('does not doubt a message whose file was not even uploaded', async () => {
    const message = { text: '', file: { name: 'a.txt', data: Buffer.from('a') } };
    harness.cloud.fail('upload', { cut: 'after' }, { status: 200, text: '{}' }, { status: 400, code: 100 });
    for (const code of ['channel/busy', 'channel/busy', 'channel/refused'])
      await expect(channel.send(harness.direct, message)).rejects.toMatchObject({ code });
    expect(sent()).toEqual([]);
  });
});

describe('files that people send', () => {
  const of = (id: string): IncomingFile => ({ id, name: 'a', mimeType: undefined, bytes: undefined });
  const keep = (data: Uint8Array) => of(harness.cloud.world.keep({ name: 'a', type: 'text/plain', data }));

  it('refuses a file that is gone', async () => {
    await expect(channel.fetchFile(of('4711'), 100)).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it.each(['', '..', '../me', '4711/../me', '4711?fields=x', 'a b', '%2e%2e'])('asks for no file called %j', async (id) => {
    await expect(channel.fetchFile(of(id), 100)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.cloud.calls).toEqual([]);
  });

  it('refuses a file that is larger than it says', async () => {
    const file = keep(Buffer.alloc(100_000));
    await expect(channel.fetchFile(file, 50_000)).rejects.toMatchObject({ code: 'channel/refused' });
    harness.cloud.fail('media', { status: 200, text: JSON.stringify({ url: `${harness.cloud.root}/files/${file.id}`, file_size: 10 }) });
    await expect(channel.fetchFile(file, 50_000)).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it.each([
    'http://lookaside.fbsbx.com/x',
    'https://lookaside.fbsbx.com.evil.example/x',
    'https://lookaside.fbsbx.com@evil.example/x',
    'https://lookaside.fbsbx.com:8443/x',
    'http://127.0.0.1:1/x',
    'http://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'not an address',
  ])('fetches no file from %s', async (url) => {
    harness.cloud.fail('media', { status: 200, text: JSON.stringify({ url, file_size: 1 }) });
    await expect(channel.fetchFile(of('4711'), 100)).rejects.toMatchObject({
      code: 'channel/refused',
      message: expect.stringContaining('not one of Meta'),
    });
  });

  it('follows no redirect, so that the token goes nowhere else', async () => {
    const seen: unknown[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers);
      response.end('x');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    try {
      const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
      harness.cloud.fail('download', { status: 302, text: '', headers: { location } });
      harness.cloud.fail('send', { status: 307, text: '', headers: { location } });
      await expect(channel.fetchFile(keep(Buffer.from('x')), 10)).rejects.toMatchObject({ code: 'channel/busy' });
      await expect(channel.send(placeOf(bob), { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy' });
      expect(seen).toEqual([]);
    } finally {
      await new Promise((resolve) => elsewhere.close(resolve));
    }
  });
});
