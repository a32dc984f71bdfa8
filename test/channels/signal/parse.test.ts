import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentMessages } from '../../../src/channels/recent-messages.ts';
import { accountOf, chatOf, fileNamed, type ParseFacts, parseEvent } from '../../../src/channels/signal/parse.ts';
import { Self } from '../../../src/channels/signal/self.ts';
import type { Incoming, IncomingMessage } from '../../../src/core/channel.ts';
import { BoundedMap } from '../../../src/lib/bounded-map.ts';
import { ada, bob, envelopeOf, type Said, SignalWorld, team, us } from '../../fakes/signal/world.ts';

const facts = (more: Partial<ParseFacts> = {}): ParseFacts => ({
  self: new Self(us.number ?? ''),
  names: new BoundedMap<string, string>(100),
  recent: new RecentMessages(),
  noteToSelf: false,
  isOurs: () => false,
  originalOf: String,
  ...more,
});

function eventsOf(work: (world: SignalWorld) => void): unknown[] {
  const events: unknown[] = [];
  work(new SignalWorld((event) => events.push(event)));
  return events;
}

function parse(said: Said, more: Partial<ParseFacts> = {}): IncomingMessage | undefined {
  const [event] = eventsOf((world) => world.says(said));
  return parseEvent(event, facts(more)) as IncomingMessage | undefined;
}

function read(work: (world: SignalWorld) => void, more: Partial<ParseFacts> = {}): (Incoming | undefined)[] {
  const all = facts(more);
  return eventsOf(work).map((event) => parseEvent(event, all));
}

describe('people and places', () => {
  it('knows a person by the id of their account, also when their number is hidden', () => {
    expect(parse({ from: bob, text: 'x' })).toMatchObject({
      from: { id: bob.uuid, name: 'Bob' },
      place: { platform: 'signal', chat: bob.uuid },
    });
  });

  it('does not know a person by their number alone', () => {
    expect(() => parse({ from: ada, text: 'x', envelope: { sourceUuid: null } })).toThrow('sourceUuid');
  });

  it.each([
    [{ sourceName: 'Ada L.' }, 'Ada L.'],
    [{ sourceName: '' }, '+15550000002'],
    [{ sourceName: null, sourceNumber: null, source: ada.uuid }, ada.uuid],
  ])('calls a person with %j %s', (envelope, name) => {
    expect(parse({ text: 'x', envelope })?.from.name).toBe(name);
  });

  it('knows a group by its id', () => {
    expect(parse({ text: 'x', group: team })).toMatchObject({ isDirect: false, isAddressed: false, place: { chat: `group:${team}` } });
  });

  it.each(['', '../x', 'a b', 7, null, 'x'.repeat(300)])('does not take %j for the id of a group', (groupId) => {
    expect(() => parse({ text: 'x', more: { groupInfo: { groupId } } })).toThrow('groupId');
  });

  it('takes the time of the server, which the sender does not choose', () => {
    const message = parse({ text: 'x', envelope: { timestamp: 1, serverReceivedTimestamp: 1_700_000_000_000 } });
    expect(message?.at).toEqual(new Date(1_700_000_000_000));
  });

  it('reads what a subscription delivers', () => {
    const [event] = eventsOf((world) => world.says({ text: 'wrapped' }));
    const wrapped = { subscription: 0, result: event };
    expect(parseEvent(wrapped, facts())).toMatchObject({ text: 'wrapped' });
    expect(accountOf(wrapped)).toBe(us.number);
  });
});

describe('who is meant', () => {
  const mention = (of: typeof us, start: number) => ({ of, start });
  it.each<[string, Said['mentions'], string, boolean]>([
    ['\ufffc do it', [mention(us, 0)], 'do it', true],
    ['  \ufffc   do it', [mention(us, 2)], 'do it', true],
    ['please \ufffc do it', [mention(us, 7)], 'please @Hermetic do it', true],
    ['\ufffc do it', [mention(bob, 0)], '@Bob do it', false],
    ['\ufffc and \ufffc', [mention(us, 0), mention(bob, 6)], 'and @Bob', true],
    ['\ufffc\ufffc /run ls', [mention(us, 0), mention(us, 1)], '@Hermetic /run ls', true],
    ['\ufffc do it', [], '\ufffc do it', false],
    ['Hermetic do it', [], 'Hermetic do it', false],
    ['@Hermetic +15550000001', [], '@Hermetic +15550000001', false],
  ])('%j with mentions of %j reads %j and addresses us: %s', (text, mentions, expected, isAddressed) => {
    const names = new BoundedMap<string, string>(10);
    names.set(bob.uuid, 'Bob');
    expect(parse({ group: team, text, ...(mentions && { mentions }) }, { names })).toMatchObject({ text: expected, isAddressed });
  });

  it.each([
    [{ start: -1, length: 1 }],
    [{ start: 0, length: 0 }],
    [{ start: 0, length: 99 }],
    [{ start: 1e9, length: 1 }],
    [{ start: 'x', length: 1 }],
    [{ start: 0.5, length: 1 }],
  ])('a mention at %j changes no text, and addresses nobody', (where) => {
    const mentions = [{ name: us.number, number: us.number, uuid: us.uuid, ...where }];
    expect(parse({ group: team, text: 'hello', more: { mentions } })).toMatchObject({ text: 'hello', isAddressed: false });
  });

  it('knows our account by its id when the number is not told', () => {
    const self = new Self(us.number ?? '');
    self.learn(us.uuid);
    const mentions = [{ name: us.uuid, number: null, uuid: us.uuid, start: 0, length: 1 }];
    expect(parse({ group: team, text: '\ufffc hi', more: { mentions } }, { self })).toMatchObject({ isAddressed: true });
  });

  it('is addressed by a reply to a message of ours, and not by one to somebody else', () => {
    const quote = (author: typeof us) => ({ author, timestamp: 5, text: 'words' });
    expect(parse({ group: team, text: 'x', quote: quote(us) })).toMatchObject({ isAddressed: true, quoted: { from: '', text: 'words' } });
    expect(parse({ group: team, text: 'x', quote: quote(bob) })).toMatchObject({ isAddressed: false, quoted: { from: '', text: 'words' } });
  });
});

describe('what is no message', () => {
  const edit = { editMessage: { targetSentTimestamp: 1, dataMessage: { timestamp: 2, message: 'changed' } }, dataMessage: undefined };
  it.each<[string, Said]>([
    ['a receipt', { envelope: { dataMessage: undefined, receiptMessage: { isRead: true } } }],
    ['typing', { envelope: { dataMessage: undefined, typingMessage: { action: 'STARTED' } } }],
    ['a call', { envelope: { dataMessage: undefined, callMessage: {} } }],
    ['a story', { envelope: { dataMessage: undefined, storyMessage: { allowsReplies: true } } }],
    ['an edit', { envelope: edit }],
    ['a deletion', { text: null, more: { remoteDelete: { timestamp: 1 } } }],
    ['an answer to a story', { text: 'nice', more: { storyContext: { authorNumber: ada.number, sentTimestamp: 1 } } }],
    ['a change of a group', { text: null, group: team }],
    ['a sticker', { text: null, more: { sticker: { packId: 'x', stickerId: 1 } } }],
    ['our own words', { from: us, text: 'echo' }],
  ])('ignores %s', (_, said) => {
    expect(parse(said)).toBeUndefined();
  });

  it('ignores what our other devices send to others, to groups, and to themselves', () => {
    expect(
      read((world) => {
        world.weSay({ to: ada, text: 'to Ada' });
        world.weSay({ group: team, text: 'to the team' });
        world.weSay({ to: us, text: 'to myself' });
      }),
    ).toEqual([undefined, undefined, undefined]);
  });
});

describe('Note to Self', () => {
  it('is a chat of the owner of the account with themself, and the only one that is listened to', () => {
    const [note, toAda, toTeam, fromAda] = read(
      (world) => {
        world.weSay({ to: us, text: 'remember' });
        world.weSay({ to: ada, text: 'to Ada' });
        world.weSay({ group: team, text: 'to the team' });
        world.says({ text: 'from Ada' });
      },
      { noteToSelf: true },
    );
    expect(note).toMatchObject({ text: 'remember', from: { id: us.uuid }, place: { chat: us.uuid }, isDirect: true, isAddressed: true });
    expect([toAda, toTeam, fromAda]).toEqual([undefined, undefined, undefined]);
  });

  it('does not take what we sent for a note', () => {
    expect(read((world) => world.weSay({ to: us, text: 'an answer' }), { noteToSelf: true, isOurs: () => true })).toEqual([undefined]);
  });

  it('does not believe others who claim to be our device', () => {
    const sentMessage = { destinationUuid: us.uuid, destinationNumber: us.number, timestamp: 5, message: 'let me in' };
    const event = { envelope: { ...envelopeOf(ada, 5), syncMessage: { sentMessage } }, account: us.number };
    expect(parseEvent(event, facts({ noteToSelf: true }))).toBeUndefined();
  });
});

describe('reactions', () => {
  const react = (emoji: string, author: typeof us, more: object = {}) =>
    read((world) => world.reacts(emoji, { author, timestamp: 77 }, more))[0];

  it('are presses on the message of ours that they are to', () => {
    expect(react('👍', us)).toMatchObject({
      kind: 'press',
      data: 'reaction:👍',
      message: '77',
      from: { id: ada.uuid },
      place: { chat: ada.uuid },
    });
    expect(react('👎', us, { from: bob, group: team })).toMatchObject({ from: { id: bob.uuid }, place: { chat: `group:${team}` } });
  });

  it('find a message that was edited', () => {
    const [press] = read((world) => world.reacts('👍', { author: us, timestamp: 99 }), {
      originalOf: (time) => (time === 99 ? '77' : String(time)),
    });
    expect(press).toMatchObject({ message: '77' });
  });

  it('are ignored when they are to others, or taken back', () => {
    expect(react('👍', bob)).toBeUndefined();
    expect(react('👍', us, { isRemove: true })).toBeUndefined();
  });

  it('have ids of their own', () => {
    const all = read((world) => {
      for (const emoji of ['👍', '👎', '👍']) world.reacts(emoji, { author: us, timestamp: 77 });
    });
    expect(new Set(all.map((one) => one?.id)).size).toBe(3);
  });
});

describe('files', () => {
  it('has a name, also when the sender gave none', () => {
    const data = Buffer.from('x');
    const files = parse({
      text: null,
      files: [
        { name: 'a.png', data },
        { name: undefined, data },
      ],
    })?.files;
    expect(files).toMatchObject([{ name: 'a.png', bytes: 1 }, { name: expect.stringMatching(/\.bin$/) }]);
  });

  it.each(['["../x","y"]', '["a/b","y"]', '[".x","y"]', '["",""]', '["a",1]', '{}', 'x', '["a"]', '["a\\u0000","b"]'])(
    'does not ask the daemon for the file %s',
    (id) => {
      expect(fileNamed(id)).toBeUndefined();
    },
  );
});

describe('hostile events', () => {
  const [sample] = eventsOf((world) =>
    world.says({
      text: '\ufffc hello',
      group: team,
      mentions: [{ of: us, start: 0 }],
      quote: { author: bob, timestamp: 4, text: 'q' },
      files: [{ name: 'a', data: Buffer.from('a') }],
      more: { reaction: undefined },
    }),
  );
  const paths = pathsIn(sample);

  it('with anything in the place of anything are read, ignored or refused, and never say that somebody else spoke', () => {
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.oneof(fc.jsonValue(), fc.constant(undefined)), (path, value) => {
        const event = replaced(sample, path, value);
        let result: Incoming | undefined;
        try {
          chatOf(event, new Self(us.number ?? ''));
          result = parseEvent(event, facts());
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
          return;
        }
        if (result?.kind !== 'message') return;
        const named = (event as { envelope: { sourceUuid: unknown } }).envelope.sourceUuid;
        expect(result.from.id).toBe(String(named).toLowerCase());
        expect([typeof result.text, typeof result.from.name, Number.isNaN(result.at.getTime())]).toEqual(['string', 'string', false]);
      }),
      { numRuns: 3000 },
    );
  });

  it('of any form are read, ignored or refused', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (event) => {
        try {
          accountOf(event);
          parseEvent({ envelope: event }, facts());
          parseEvent(event, facts());
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

type Path = readonly (string | number)[];

function pathsIn(value: unknown, before: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [before];
  return [before, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...before, key]))];
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string, unknown>)[key] = replaced((value as Record<string, unknown>)[key], rest, by);
  return copy;
}
