import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LastIncoming } from '../../../src/channels/whatsapp-cloud/last-incoming.ts';
import { chatIn, parseMessage, type Surroundings, surroundings } from '../../../src/channels/whatsapp-cloud/parse.ts';
import { type Incoming, reactionPrefix } from '../../../src/core/channel.ts';
import { ada, business } from '../../fakes/whatsapp-cloud/world.ts';

const around: Surroundings = {
  metadata: { phone_number_id: business.id, display_phone_number: business.number },
  contacts: [{ wa_id: ada.id, profile: { name: 'Ada' } }],
};
const common = { from: ada.id, id: 'wamid.1', timestamp: '1700000000' };
const nothing = () => undefined;
const parse = (more: Record<string, unknown>, given = around): Incoming | undefined => parseMessage({ ...common, ...more }, given, nothing);
const said = { type: 'text', text: { body: 'hello' } };

describe('messages of people', () => {
  it('reads a text', () => {
    expect(parse(said)).toEqual({
      kind: 'message',
      id: 'wamid.1',
      place: { platform: 'whatsapp_cloud', workspace: undefined, chat: ada.id, thread: undefined },
      from: { id: ada.id, name: 'Ada' },
      at: new Date(1_700_000_000_000),
      text: 'hello',
      isDirect: true,
      isAddressed: true,
      quoted: undefined,
      files: [],
    });
  });

  it.each([
    [
      'image',
      { id: '1', mime_type: 'image/jpeg', caption: 'look' },
      { text: 'look', name: 'photo-1700000000.jpg', mimeType: 'image/jpeg' },
    ],
    ['video', { id: '1', mime_type: 'video/mp4' }, { name: 'video-1700000000.mp4' }],
    ['audio', { id: '1', mime_type: 'audio/ogg; codecs=opus', voice: true }, { name: 'voice-1700000000.ogg', mimeType: 'audio/ogg' }],
    ['audio', { id: '1', mime_type: 'audio/mpeg', voice: false }, { name: 'audio-1700000000.mp3' }],
    ['document', { id: '1', mime_type: 'application/pdf', filename: 'a.pdf', caption: 'read' }, { text: 'read', name: 'a.pdf' }],
    ['document', { id: '1', mime_type: 'application/pdf' }, { name: 'file-1700000000.pdf' }],
    ['sticker', { id: '1', mime_type: 'image/webp', animated: false }, { name: 'sticker-1700000000.webp' }],
    ['document', { id: '1', mime_type: 'constructor' }, { name: 'file-1700000000.bin', mimeType: 'constructor' }],
  ])('reads a file that is a %s: %j', (type, file, { text = '', ...expected }: Record<string, unknown>) => {
    expect(parse({ type, [type]: file })).toMatchObject({ kind: 'message', text, files: [{ id: '1', bytes: undefined, ...expected }] });
  });

  it.each([
    ['a chosen button', { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: 'q:1', title: 'Yes' } } }, 'q:1'],
    ['a chosen row', { type: 'interactive', interactive: { type: 'list_reply', list_reply: { id: 'q:2', title: 'Yes' } } }, 'q:2'],
    ['a button of a template', { type: 'button', button: { payload: 'q:3', text: 'Yes' } }, 'q:3'],
  ])('reads %s as a press', (_, content, data) => {
    const context = { from: business.digits, id: 'wamid.ours' };
    expect(parse({ ...content, context })).toMatchObject({
      kind: 'press',
      id: 'wamid.1',
      data,
      message: 'wamid.ours',
      from: { id: ada.id },
    });
    expect(parse(content)).toBeUndefined();
  });

  it('reads a reaction as a press, and ignores that it is taken back', () => {
    expect(parse({ type: 'reaction', reaction: { message_id: 'wamid.ours', emoji: '👍' } })).toMatchObject({
      kind: 'press',
      data: `${reactionPrefix}👍`,
      message: 'wamid.ours',
    });
    for (const emoji of [undefined, '']) {
      expect(parse({ type: 'reaction', reaction: { message_id: 'wamid.ours', ...(emoji !== undefined && { emoji }) } })).toBeUndefined();
    }
  });

  it.each([{ forwarded: true }, { frequently_forwarded: true }])('marks a message as forwarded that has %j', (context) => {
    expect(parse({ ...said, text: { body: '/yolo' }, context })).toMatchObject({
      text: '/yolo',
      forwarded: { from: '' },
      quoted: undefined,
    });
    expect(parse(said)).not.toHaveProperty('forwarded');
  });

  it('quotes what is known of the message that it replies to', () => {
    const recall = (chat: string, id: string) => (chat === ada.id && id === 'wamid.0' ? { from: 'Ada', text: 'before' } : undefined);
    expect(parseMessage({ ...common, ...said, context: { id: 'wamid.0' } }, around, recall)).toMatchObject({
      quoted: { from: 'Ada', text: 'before' },
    });
    expect(parse({ ...said, context: { id: 'wamid.x' } })).toMatchObject({ quoted: { from: '', text: '' } });
    expect(parse({ ...said, context: { referred_product: { catalog_id: '1' } } })).toMatchObject({ quoted: undefined });
  });
});

describe('names', () => {
  it.each<[string, unknown, string]>([
    [
      'of the contact with the same number',
      [
        { wa_id: '1', profile: { name: 'X' } },
        { wa_id: ada.id, profile: { name: 'Ada' } },
      ],
      'Ada',
    ],
    ['of the only contact', [{ wa_id: '4917', profile: { name: 'Ada' } }], 'Ada'],
    [
      'of nobody else',
      [
        { wa_id: '1', profile: { name: 'X' } },
        { wa_id: '2', profile: { name: 'Y' } },
      ],
      ada.id,
    ],
    ['instead of an empty one', [{ wa_id: ada.id, profile: { name: '' } }], ada.id],
    ['without contacts', undefined, ada.id],
    ['with contacts that are none', 'Ada', ada.id],
  ])('are those %s', (_, contacts, name) => {
    const given = surroundings.parse({ metadata: around.metadata, contacts });
    expect(parse(said, given)).toMatchObject({ from: { id: ada.id, name } });
  });

  it('tell nothing about who somebody is', () => {
    const given = { ...around, contacts: [{ wa_id: ada.id, profile: { name: '16505551234' } }] };
    expect(parse(said, given)).toMatchObject({ from: { id: ada.id }, place: { chat: ada.id } });
  });
});

describe('what is ignored', () => {
  it.each<[string, Record<string, unknown>]>([
    ['our own words', { ...said, from: business.digits }],
    ['words in a group', { ...said, group_id: 'Y2FwaV9ncm91cDo' }],
    ['words of nobody', { ...said, from: undefined }],
    ['notices of WhatsApp', { type: 'system', system: { type: 'user_changed_number', body: 'x' } }],
    ['what is not supported', { type: 'unsupported', errors: [{ code: 131_051 }] }],
    ['a location', { type: 'location', location: { latitude: 1, longitude: 2 } }],
    ['contacts', { type: 'contacts', contacts: [] }],
    ['an order', { type: 'order', order: {} }],
    ['an answer to a form', { type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: {} }, context: { id: 'wamid.ours' } }],
    ['a type that is no type', { type: 'constructor' }],
    ['a type without its content', { type: 'image' }],
    ['a text without its content', { type: 'text' }],
    ['an empty text', { type: 'text', text: { body: '' } }],
  ])('is %s', (_, more) => {
    expect(parse(more)).toBeUndefined();
  });
});

describe('what cannot be read', () => {
  it.each<[string, unknown]>([
    ['is nothing', null],
    ['is a word', 'hello'],
    ['has no id', { ...common, ...said, id: undefined }],
    ['has no time', { ...common, ...said, timestamp: 'today' }],
    ['has a text that is none', { ...common, type: 'text', text: { body: {} } }],
    ['is from somebody who is none', { ...common, ...said, from: 'Ada' }],
    ['is from a path', { ...common, ...said, from: '../me' }],
    ['is from somebody with a line break', { ...common, ...said, from: `${ada.id}\n` }],
    ['has a file with a path for an id', { ...common, type: 'image', image: { id: '../me' } }],
  ])('is refused when it %s', (_, content) => {
    expect(() => parseMessage(content, around, nothing)).toThrow();
    expect(typeof chatIn(content)).toBe('string');
  });
});

describe('the reason why something cannot be read', () => {
  it('names the part, and nothing of what was said', () => {
    expect(() => parse({ type: 'text', text: { body: { secret: 'hunter2' } } })).toThrow(/^text\.body: .*expected string/);
    expect(() => parse({ type: 'text', text: { body: { secret: 'hunter2' } } })).not.toThrow(/hunter2/);
  });
});

describe('any message at all', () => {
  const types = ['text', 'image', 'video', 'audio', 'document', 'sticker', 'interactive', 'button', 'reaction', 'system', '__proto__'];
  const anything = fc.jsonValue({ maxDepth: 3 });
  const strange = fc.oneof(fc.string(), anything, fc.constant(ada.id), fc.constant('US.1'), fc.constant(business.digits));
  const message = fc.record(
    {
      id: fc.oneof(fc.constant('wamid.1'), strange),
      from: strange,
      from_user_id: strange,
      group_id: strange,
      timestamp: fc.oneof(fc.constant('1700000000'), strange),
      type: fc.oneof(fc.constantFrom(...types), strange),
      context: fc.oneof(fc.record({ id: strange, forwarded: fc.boolean() }), anything),
      text: fc.oneof(fc.record({ body: fc.string() }), anything),
      image: fc.oneof(fc.record({ id: strange, mime_type: fc.string(), caption: fc.string() }), anything),
      document: fc.oneof(fc.record({ id: strange, filename: fc.string() }), anything),
      interactive: fc.oneof(fc.record({ button_reply: fc.record({ id: fc.string() }) }), anything),
      reaction: fc.oneof(fc.record({ message_id: fc.string(), emoji: fc.string() }), anything),
    },
    { requiredKeys: [] },
  );

  it('is read, ignored or refused, and never said by anybody but its sender', () => {
    fc.assert(
      fc.property(fc.oneof(message, anything), (content) => {
        let incoming: Incoming | undefined;
        try {
          incoming = parseMessage(content, around, nothing);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
        expect(chatIn(content).length).toBeLessThanOrEqual(200);
        if (!incoming) return;
        const given = content as Record<string, unknown>;
        expect(incoming.from.id).toBe(given.from ?? given.from_user_id);
        expect(incoming.place.chat).toBe(incoming.from.id);
        expect(incoming.from.id).toMatch(/^(\d{5,20}|[A-Z]{2}\.[\w.]+)$/);
        expect(incoming.from.id).not.toBe(business.digits);
        expect(given.group_id).toBeUndefined();
        expect(Number.isNaN(incoming.at.getTime())).toBe(false);
        if (incoming.kind === 'message') for (const file of incoming.files) expect(file.id).toMatch(/^[\w-]+$/);
      }),
      { numRuns: 5000, seed: 10 },
    );
  });
});

describe('what is remembered', () => {
  it('forgets the chats that were quiet longest', () => {
    const last = new LastIncoming();
    for (let index = 0; index <= 10_000; index += 1) last.add(`chat ${index}`, `m${index}`);
    expect(last.toAnswer('chat 0')).toBeUndefined();
    expect(last.toAnswer('chat 1', 0)).toBe('m1');
    expect(last.toAnswer('chat 1', 19_999)).toBeUndefined();
    expect(last.toAnswer('chat 1', 20_000)).toBe('m1');
  });
});
