import * as baileys from 'baileys';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentMessages } from '../../../src/channels/recent-messages.ts';
import type { Self } from '../../../src/channels/whatsapp/account.ts';
import type { Baileys, WireMessage } from '../../../src/channels/whatsapp/baileys.ts';
import { userOf } from '../../../src/channels/whatsapp/jids.ts';
import { MessageIds } from '../../../src/channels/whatsapp/message-ids.ts';
import { NoteCache } from '../../../src/channels/whatsapp/note-cache.ts';
import { type ParseParts, parseMessage } from '../../../src/channels/whatsapp/parse.ts';
import { wireMessageOf } from '../../../src/channels/whatsapp/wire-message.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';

const self: Self = { jid: '490001:1@s.whatsapp.net', lidJid: '9001:1@lid', phone: '490001', lid: '9001' };
const ids = new MessageIds(await NoteCache.load(new KeptNotes()));
const ours = ids.next();
const now = 1_800_000_000_000;
const group = '120363000000000001@g.us';
const parts: ParseParts = {
  mode: 'bot',
  self,
  ids,
  recent: new RecentMessages(),
  people: {
    find: (jid) => userOf(jid)?.user,
    idOf: (jid, other) => (userOf(other)?.isLid === false ? userOf(other)?.user : userOf(jid)?.user),
  },
};
const wire = (message: unknown, key: WireMessage['key'] = {}): WireMessage => ({
  key: { remoteJid: '490002@s.whatsapp.net', fromMe: false, id: 'A1', ...key },
  messageTimestamp: now / 1000,
  pushName: 'Ada',
  message,
});
const inGroup = { remoteJid: group, participant: '9002@lid', participantAlt: '490002@s.whatsapp.net' };
const parse = (message: unknown, key?: WireMessage['key'], mode: 'bot' | 'self' = 'bot') =>
  parseMessage(wire(message, key), now, { ...parts, mode });
const media = {
  directPath: '/v/a',
  mediaKey: Buffer.alloc(32),
  fileEncSha256: Buffer.alloc(32),
  fileSha256: Buffer.alloc(32),
  fileLength: 7,
};
const text = (words: string, contextInfo?: object) => ({ extendedTextMessage: { text: words, contextInfo } });

describe('texts', () => {
  it.each([
    ['a text', { conversation: 'hello' }, 'hello'],
    ['a longer one', text('hello'), 'hello'],
    ['one that disappears', { ephemeralMessage: { message: { conversation: 'hello' } } }, 'hello'],
    ['the words below a picture', { imageMessage: { ...media, caption: 'hello' } }, 'hello'],
    [
      'the words below a document',
      { documentWithCaptionMessage: { message: { documentMessage: { ...media, caption: 'hello' } } } },
      'hello',
    ],
    ['a picture to look at once', { viewOnceMessageV2: { message: { imageMessage: { ...media, caption: 'hello' } } } }, 'hello'],
  ])('%s is read', (_, message, expected) => {
    expect(parse(message)).toMatchObject({ kind: 'message', text: expected, from: { id: '490002', name: 'Ada' } });
  });

  it.each([
    ['an empty text', { conversation: '' }],
    ['nothing', {}],
    ['no content', undefined],
    ['an edit', { protocolMessage: { type: 14, editedMessage: { conversation: 'changed' } } }],
    ['a removal', { protocolMessage: { type: 0 } }],
    ['a poll', { pollCreationMessage: { name: 'x' } }],
    ['the key of a group', { senderKeyDistributionMessage: { groupId: group } }],
    ['a message in too many wrappers', nested(20)],
  ])('%s is nothing to answer', (_, message) => {
    expect(parse(message)).toBeUndefined();
  });
});

describe('who wrote it, and where', () => {
  it.each([
    ['somebody, directly', {}, 'bot', '490002'],
    ['somebody, directly, by another number', { remoteJid: '9002@lid', remoteJidAlt: '490002@s.whatsapp.net' }, 'bot', '490002'],
    ['somebody in a group', inGroup, 'bot', group],
    ['the account of a bot itself', { fromMe: true }, 'bot', undefined],
    ['the account of a bot itself, under its name', { remoteJid: '490001@s.whatsapp.net' }, 'bot', undefined],
    [
      'the account of a bot itself in a group',
      { ...inGroup, participant: '9001@lid', participantAlt: '490001@s.whatsapp.net' },
      'bot',
      undefined,
    ],
    ['somebody, to an account of the owner', {}, 'self', undefined],
    ['somebody in a group of the owner', inGroup, 'self', undefined],
    ['the owner, to themselves', { remoteJid: '490001@s.whatsapp.net', fromMe: true }, 'self', '490001'],
    ['the owner, to themselves by another number', { remoteJid: '9001@lid', fromMe: true }, 'self', '490001'],
    ['the owner, to somebody', { fromMe: true }, 'self', undefined],
    ['the owner, in a group', { ...inGroup, fromMe: true }, 'self', undefined],
    ['a status', { remoteJid: 'status@broadcast', participant: '490002@s.whatsapp.net' }, 'bot', undefined],
    ['a newsletter', { remoteJid: '120363@newsletter' }, 'bot', undefined],
    ['a program of WhatsApp', { remoteJid: '0@broadcast' }, 'bot', undefined],
    ['a group without a sender', { remoteJid: group }, 'bot', undefined],
  ] as const)('%s', (_, key, mode, chat) => {
    expect(parse({ conversation: 'hello' }, key, mode)?.place.chat).toBe(chat);
  });

  it('two people in a group who choose the same id have messages of different ids', () => {
    const one = parse({ conversation: 'one' }, inGroup);
    const two = parse({ conversation: 'two' }, { ...inGroup, participant: '9003@lid', participantAlt: '490003@s.whatsapp.net' });
    expect(one?.id).not.toBe(two?.id);
  });

  it('a message of ours that comes back is ignored', () => {
    expect(parse({ conversation: 'mine' }, { id: ours, remoteJid: '490001@s.whatsapp.net', fromMe: true }, 'self')).toBeUndefined();
    expect(ids.isOurs(`${ours.slice(0, -1)}${ours.endsWith('0') ? '1' : '0'}`)).toBe(false);
  });

  it.each([
    ['its id', { id: '' }],
    ['an id that could be two', { id: 'a/b' }],
  ])('a message is refused for %s', (_, key) => {
    expect(() => parse({ conversation: 'x' }, key)).toThrow('it has no id');
  });
});

describe('whom it is meant for in a group', () => {
  const quotedMessage = { conversation: 'before' };
  it.each([
    ['everybody', text('hello'), false],
    ['us, by our other number', text('@9001 hello', { mentionedJid: ['9001@lid'] }), true],
    ['us, by our phone number', text('@490001 hello', { mentionedJid: ['490001@s.whatsapp.net'] }), true],
    ['somebody else', text('@9003 hello', { mentionedJid: ['9003@lid'] }), false],
    ['whoever has our number in the text only', text('@9001 hello'), false],
    ['us, as a reply to our message', text('hello', { stanzaId: ours, quotedMessage }), true],
    ['us, as a reply to our account', text('hello', { stanzaId: 'X', participant: '9001@lid', quotedMessage }), true],
    ['somebody else, as a reply', text('hello', { stanzaId: 'X', participant: '9003@lid', quotedMessage }), false],
    ['nobody, being forwarded', text('hello', { mentionedJid: ['9001@lid'], isForwarded: true }), false],
    ['us, below a picture', { imageMessage: { ...media, caption: '@9001 hello', contextInfo: { mentionedJid: ['9001@lid'] } } }, true],
  ])('%s', (_, message, isAddressed) => {
    const found = parse(message, inGroup);
    expect(found).toMatchObject({ isAddressed, isDirect: false });
  });

  it('our name is taken out of the text', () => {
    expect(parse(text('@9001 hello @90015', { mentionedJid: ['9001@lid', '90015@lid'] }), inGroup)).toMatchObject({ text: 'hello @90015' });
  });

  it('a forwarded message is marked as that', () => {
    expect(parse(text('/run rm', { isForwarded: true }))).toMatchObject({ text: '/run rm', forwarded: { from: '' } });
  });
});

describe('reactions', () => {
  const direct = { from: '490003@s.whatsapp.net' };
  const ownChat = { from: '490001@s.whatsapp.net', recipient: '490001@s.whatsapp.net' };
  const members = { from: group, participant: '490003@s.whatsapp.net' };
  /** As the phone of a person writes it, and as it is read here. */
  const react = (key: baileys.proto.IMessageKey, address: Record<string, string>, mode: 'bot' | 'self' = 'bot') => {
    const plain = [baileys.encodeWAMessage({ reactionMessage: { key: { id: ours, ...key }, text: '👍' } })];
    const attrs = { id: 'R1', t: String(now / 1000), notify: 'Admin', ...address };
    return parseMessage(wireMessageOf({ attrs, plain }, self, baileys as unknown as Baileys), now, { ...parts, mode });
  };

  it.each<[string, baileys.proto.IMessageKey, Record<string, string>, 'bot' | 'self']>([
    ['in a direct chat', { remoteJid: '490001@s.whatsapp.net', fromMe: false }, direct, 'bot'],
    ['in a direct chat that names us by our other number', { remoteJid: '9001@lid', fromMe: false }, direct, 'bot'],
    ['in a group', { remoteJid: group, fromMe: false, participant: '490001@s.whatsapp.net' }, members, 'bot'],
    ['in a group that names us by our other number', { remoteJid: group, fromMe: false, participant: '9001@lid' }, members, 'bot'],
    ['in the chat of the owner with themselves', { remoteJid: '490001@s.whatsapp.net', fromMe: true }, ownChat, 'self'],
  ])('to a message of ours %s are presses', (_, key, address, mode) => {
    const from = { id: mode === 'self' ? '490001' : '490003', name: 'Admin' };
    expect(react(key, address, mode)).toMatchObject({ kind: 'press', data: 'reaction:👍', message: ours, from });
  });

  it.each<[string, baileys.proto.IMessageKey, Record<string, string>, 'bot' | 'self']>([
    ['of another member', { remoteJid: group, fromMe: false, participant: '490666@s.whatsapp.net' }, members, 'bot'],
    ['of another member, by their other number', { remoteJid: group, fromMe: false, participant: '9666@lid' }, members, 'bot'],
    ['of a member with our digits as their other number', { remoteJid: group, fromMe: false, participant: '490001@lid' }, members, 'bot'],
    ['of the person who reacts, in a group', { remoteJid: group, fromMe: true, participant: '490003@s.whatsapp.net' }, members, 'bot'],
    ['of the person who reacts, in a group, as if of us', { remoteJid: group, fromMe: true, participant: '9001@lid' }, members, 'bot'],
    ['of no one, in a group', { remoteJid: group, fromMe: false }, members, 'bot'],
    ['of the person who reacts, in a direct chat', { remoteJid: '490001@s.whatsapp.net', fromMe: true }, direct, 'bot'],
    ['that is not from the account of the owner', { remoteJid: '490001@s.whatsapp.net', fromMe: false }, ownChat, 'self'],
    ['in a chat of the owner with another person', { fromMe: true }, { ...ownChat, recipient: '490002@s.whatsapp.net' }, 'self'],
    ['of another person, to the account of the owner', { remoteJid: '490001@s.whatsapp.net', fromMe: false }, direct, 'self'],
  ])('to a message with the id of ours %s are none', (_, key, address, mode) => {
    expect(react(key, address, mode)).toBeUndefined();
  });
});

describe('files', () => {
  it.each([
    ['a picture', { imageMessage: { ...media, mimetype: 'image/jpeg' } }, 'picture.jpg', 'image/jpeg'],
    ['a voice note', { audioMessage: { ...media, ptt: true, mimetype: 'audio/ogg; codecs=opus' } }, 'voice.ogg', 'audio/ogg'],
    ['a song', { audioMessage: { ...media, mimetype: 'audio/mpeg' } }, 'audio.mp3', 'audio/mpeg'],
    ['a video', { videoMessage: { ...media, mimetype: 'video/mp4' } }, 'video.mp4', 'video/mp4'],
    ['a round video', { ptvMessage: { ...media, mimetype: 'video/mp4' } }, 'video.mp4', 'video/mp4'],
    ['a sticker', { stickerMessage: { ...media, mimetype: 'image/webp' } }, 'sticker.webp', 'image/webp'],
    ['a document', { documentMessage: { ...media, fileName: 'näme.pdf', mimetype: 'application/pdf' } }, 'näme.pdf', 'application/pdf'],
    ['a document with a hostile name', { documentMessage: { ...media, fileName: '../../a\u0000b' } }, '.._.._a_b', undefined],
  ])('%s has a name and a type', (_, message, name, mimeType) => {
    expect(parse(message)).toMatchObject({ files: [{ name, mimeType, bytes: 7 }] });
  });
});

describe('whatever arrives', () => {
  const decoder = baileys as unknown as Baileys;
  const attrs = { from: '490002@s.whatsapp.net', id: 'A1', t: String(now / 1000) };

  it('bytes that are no message are refused or ignored, and never taken for a message of somebody else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.dictionary(fc.string(), fc.string()), (bytes, more) => {
        const read = () => parseMessage(wireMessageOf({ attrs: { ...more, ...attrs }, plain: [bytes] }, self, decoder), now, parts);
        const found = tried(read);
        if (found) expect(found.from.id).toBe('490002');
      }),
      { numRuns: 300 },
    );
  });

  it('content of any form never throws anything but an error, and never changes who said it', () => {
    const names = [
      'conversation',
      'extendedTextMessage',
      'imageMessage',
      'documentMessage',
      'reactionMessage',
      'ephemeralMessage',
      'audioMessage',
    ];
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.anything(),
        fc.dictionary(
          fc.constantFrom(...names, 'text', 'caption', 'contextInfo', 'message', 'mentionedJid', 'quotedMessage', 'key', 'id'),
          tie('value'),
        ),
      ),
    })).value;
    fc.assert(
      fc.property(value, fc.boolean(), (message, isInGroup) => {
        const found = tried(() => parse(message, isInGroup ? inGroup : {}));
        if (!found) return;
        expect(found.from.id).toBe('490002');
        expect(found.place.chat).toBe(isInGroup ? group : '490002');
        if (found.kind === 'message') expect(typeof found.text).toBe('string');
      }),
      { numRuns: 500 },
    );
  });

  it('keys of any form name nobody but a person, and no chat but theirs', () => {
    const jid = fc.oneof(
      fc.string(),
      fc.constantFrom('490001@s.whatsapp.net', '9001@lid', group, 'status@broadcast', undefined, null),
      fc.stringMatching(/^\d{1,22}(:\d{1,3})?@(s\.whatsapp\.net|lid|g\.us|broadcast)$/),
    );
    const key = fc.record({
      remoteJid: jid,
      participant: jid,
      remoteJidAlt: jid,
      participantAlt: jid,
      fromMe: fc.boolean(),
      id: fc.string(),
    });
    fc.assert(
      fc.property(key, fc.constantFrom('bot' as const, 'self' as const), (given, mode) => {
        const found = tried(() => parse({ conversation: 'x' }, given, mode));
        if (!found) return;
        expect(found.from.id).toMatch(/^\d{1,20}$/);
        if (mode === 'self') expect([found.from.id, found.place.chat]).toEqual([self.phone, self.phone]);
        else expect(found.place.chat).toMatch(/^(\d{1,20}|[\d-]+@g\.us)$/);
        expect(given.fromMe).toBe(mode === 'self');
      }),
      { numRuns: 500 },
    );
  });
});

/** What is thrown is set aside: an error is as good as nothing. */
function tried<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return undefined;
  }
}

function nested(depth: number): object {
  return depth === 0 ? { conversation: 'deep' } : { ephemeralMessage: { message: nested(depth - 1) } };
}
