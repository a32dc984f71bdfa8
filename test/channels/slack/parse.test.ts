import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readable } from '../../../src/channels/slack/entities.ts';
import { isPersonId } from '../../../src/channels/slack/ids.ts';
import { type MessageFacts, parseCommand, parseMessage, parsePress, type Root } from '../../../src/channels/slack/parse.ts';
import type { Incoming, IncomingMessage } from '../../../src/core/channel.ts';
import { Access, type PlatformRules } from '../../../src/gateway/access.ts';
import { ada, bob, home } from '../../fakes/slack/world.ts';

const workspace = { team: home.team, user: home.bot, bot: home.botId };
const ts = '1700000000.000100';
const thread = '1690000000.000200';
const names = new Map([
  [ada, 'Ada'],
  [bob, 'Bob'],
]);
const us = `<@${home.bot}>`;
const commands = new Set(['run', 'help', 'approve']);

function facts(more: Partial<MessageFacts> = {}): MessageFacts {
  return { workspace, channel: 'C1', root: undefined, names, conventions: { replyInThread: true, commands }, ...more };
}

const said = (more: object = {}) => ({ type: 'message', user: ada, text: 'hello', ts, ...more });

function parse(message: object, more: Partial<MessageFacts> = {}): IncomingMessage | undefined {
  return parseMessage(said(message), facts(more));
}

const byUs: Root = { user: home.bot, bot: home.botId, text: 'our words' };
const byBob: Root = { user: bob, bot: undefined, text: 'his words' };
const toUs: Root = { user: bob, bot: undefined, text: `${us} look at this` };

describe('texts of Slack', () => {
  it.each([
    ['a &lt;b&gt; &amp;amp; c', 'a <b> &amp; c'],
    [`<@${bob}> and <@UNOBODY|nick> and <@UUNKNOWN>`, '@Bob and @nick and @UUNKNOWN'],
    ['<#C123|general> <#C456>', '#general #C456'],
    ['<!here> <!channel|everyone> <!everyone>', '@here @channel @everyone'],
    ['<!subteam^S1|@admins> <!subteam^S2>', '@admins @S2'],
    ['<!date^1392734382^{date}|Feb 18>', 'Feb 18'],
    ['<https://example.org/?a=1&amp;b=2>', 'https://example.org/?a=1&b=2'],
    ['<https://example.org/a|the page>', 'the page (https://example.org/a)'],
    ['<http://example.org|example.org>', 'example.org'],
    ['<mailto:a@b.c|a@b.c>', 'a@b.c'],
    ['<https://x.y|&lt;b&gt;>', '<b> (https://x.y)'],
    ['1 < 2 <> < a>', '1 < 2 <> < a>'],
    ['&lt;@U123&gt;', '<@U123>'],
  ])('reads %s as people see it', (source, expected) => {
    expect(readable(source, (user) => names.get(user))).toBe(expected);
  });
});

describe('who is meant by a message', () => {
  it.each<[string, object, Partial<MessageFacts>, boolean]>([
    ['a direct message', {}, { channel: 'D1' }, true],
    ['a mention', { text: `${us} hello` }, {}, true],
    ['a mention with a label', { text: `hello <@${home.bot}|hermetic>` }, {}, true],
    ['a mention in a group of people', { text: `hello ${us}` }, { channel: 'G1' }, true],
    ['talk', {}, {}, false],
    ['a mention of somebody else', { text: `<@${bob}> hello` }, {}, false],
    ['our name as text', { text: `&lt;@${home.bot}&gt; hello` }, {}, false],
    ['an answer to our message', { thread_ts: thread }, { root: byUs }, true],
    ['an answer to a message that mentions us', { thread_ts: thread }, { root: toUs }, true],
    ['an answer to somebody', { thread_ts: thread }, { root: byBob }, false],
    ['an answer to what cannot be read', { thread_ts: thread }, {}, false],
    ['a mention in such an answer', { thread_ts: thread, text: `so, ${us}` }, { root: byBob }, true],
    ['everybody', { text: '<!channel> hello' }, {}, false],
  ])('%s: %#', (_, message, more, expected) => {
    expect(parse(message, more)?.isAddressed).toBe(expected);
  });
});

describe('places', () => {
  it.each<[string, object, Partial<MessageFacts>, string | undefined]>([
    ['talk is in the channel', {}, {}, undefined],
    ['a direct message is in the chat', {}, { channel: 'D1' }, undefined],
    ['a mention begins a thread', { text: `${us} hi` }, {}, ts],
    [
      'a mention is in the channel when threads are not wanted',
      { text: `${us} hi` },
      { conventions: { replyInThread: false, commands } },
      undefined,
    ],
    ['a mention in a direct message begins no thread', { text: `${us} hi` }, { channel: 'D1' }, undefined],
    ['an answer is in its thread', { thread_ts: thread }, { root: byBob }, thread],
    ['a message that has answers is not in its own thread', { thread_ts: ts }, {}, undefined],
    ['an answer that is shown in the channel too is in its thread', { thread_ts: thread, subtype: 'thread_broadcast' }, {}, thread],
  ])('%s', (_, message, more, expected) => {
    expect(parse(message, more)?.place).toEqual({ platform: 'slack', workspace: home.team, chat: more.channel ?? 'C1', thread: expected });
  });

  it.each<[string, Root, IncomingMessage['quoted']]>([
    ['our words', byUs, { from: home.bot, text: 'our words' }],
    ['the words of somebody', byBob, { from: 'Bob', text: 'his words' }],
    ['nothing when the conversation began with it', toUs, undefined],
  ])('an answer in a thread quotes %s', (_, root, quoted) => {
    expect(parse({ thread_ts: thread }, { root })?.quoted).toEqual(quoted);
  });
});

describe('commands', () => {
  it.each([
    [`!run ls &amp;&amp; pwd`, '/run ls && pwd'],
    [`${us} !run ls`, '/run ls'],
    [`${us}: !approve ABC`, '/approve ABC'],
    ['!RUN ls', '/RUN ls'],
    ['!help', '/help'],
    ['!important', '!important'],
    ['! run', '! run'],
    ['!running', '!running'],
    ['so !run ls', 'so !run ls'],
    ['/run ls', '/run ls'],
  ])('reads %s as %s', (text, expected) => {
    expect(parse({ text }, { channel: 'D1' })?.text).toBe(expected);
    expect(parse({ text, thread_ts: thread }, { root: toUs })?.text).toBe(expected);
  });

  it.each([
    ['run ls', '/run ls'],
    ['', '/help'],
    ['  help  ', '/help'],
    ['what is new?', 'what is new?'],
  ])('reads /hermetic %s as %s', (text, expected) => {
    const payload = { team_id: home.team, channel_id: 'C1', user_id: ada, text, trigger_id: '1.2.3' };
    expect(parseCommand(payload, home.team, names, commands)).toMatchObject({
      text: expected,
      isAddressed: true,
      isDirect: false,
      from: { id: `${home.team}/${ada}`, name: 'Ada' },
    });
  });

  it('nothing in a forwarded message is a command', () => {
    const attachments = [{ is_share: true, text: `${us} !run rm -rf /`, author_name: 'Mallory' }];
    const message = parse({ text: '', attachments }, { channel: 'D1' });
    expect(message).toMatchObject({ forwarded: { from: 'Mallory' }, from: { id: `${home.team}/${ada}` } });
    expect(message?.text).not.toMatch(/^\//);
    expect(parse({ text: '', attachments })?.isAddressed).toBe(false);
    expect(parse({ text: 'look', attachments }, { channel: 'D1' })).toMatchObject({ text: 'look', quoted: { from: 'Mallory' } });
  });
});

describe('what is no message of a person', () => {
  it.each<[string, object]>([
    ['our own', { user: home.bot }],
    ['another bot', { bot_id: 'B9' }],
    ['another bot in the old way', { subtype: 'bot_message', bot_id: 'B9', user: undefined }],
    ['Slackbot', { user: 'USLACKBOT' }],
    ['an edit', { subtype: 'message_changed', user: undefined, message: said() }],
    ['a deletion', { subtype: 'message_deleted', user: undefined }],
    ['somebody came', { subtype: 'channel_join' }],
    ['a hidden one', { hidden: true }],
    ['a mention that was written into a message later', { type: 'app_mention', text: `${us} x`, edited: { user: ada, ts } }],
    ['an empty one', { text: '' }],
    ['only our name', { text: us }],
  ])('ignores %s', (_, message) => {
    expect(parse(message)).toBeUndefined();
  });

  it('reads what somebody says about themselves, and files', () => {
    expect(parse({ subtype: 'me_message', text: 'is tired' })).toMatchObject({ text: 'is tired' });
    const files = [
      { id: 'F1', name: 'voice.m4a', mimetype: 'audio/mp4', size: 3 },
      { id: 'F2', mode: 'tombstone' },
      { id: 'F3', file_access: 'check_file_info' },
    ];
    expect(parse({ subtype: 'file_share', text: '', files })?.files).toEqual([
      { id: JSON.stringify([home.team, 'F1']), name: 'voice.m4a', mimeType: 'audio/mp4', bytes: 3 },
      { id: JSON.stringify([home.team, 'F3']), name: 'F3', mimeType: undefined, bytes: undefined },
    ]);
  });
});

describe('who may talk on Slack', () => {
  const unpaired = { find: async () => undefined, request: async () => undefined } as never;
  const rules = (more: Partial<PlatformRules> = {}): PlatformRules => ({
    ...{ isOwn: false, allowedUsers: [], allowedRoles: [], admins: [], allowAll: false, requireMention: true },
    ...more,
  });
  const mention = { text: `${us} hi` };

  it.each<[string, object, string, Partial<PlatformRules>, string]>([
    ['somebody of this workspace who is allowed', mention, home.team, { allowedUsers: [`${home.team}/${ada}`] }, 'admitted'],
    ['an admin of this workspace', mention, home.team, { admins: [`${home.team}/${ada}`] }, 'admitted'],
    ['the same id of another workspace', mention, 'TOTHER', { allowedUsers: [`${home.team}/${ada}`] }, 'ignored'],
    ['the same id of another workspace, an admin here', mention, 'TOTHER', { admins: [`${home.team}/${ada}`] }, 'ignored'],
    ['an id without a workspace', mention, home.team, { allowedUsers: [ada], admins: [ada] }, 'ignored'],
    ['a stranger', mention, home.team, {}, 'ignored'],
    ['somebody allowed who does not mention it', {}, home.team, { allowedUsers: [`${home.team}/${ada}`] }, 'ignored'],
    ['them, when that is not needed', {}, home.team, { allowedUsers: [`${home.team}/${ada}`], requireMention: false }, 'admitted'],
    ['everybody, when all are', mention, 'TOTHER', { allowAll: true }, 'admitted'],
    ['a bot, when all are', { ...mention, bot_id: 'B9' }, home.team, { allowAll: true }, 'unread'],
  ])('%s: %#', async (_, message, team, more, expected) => {
    const incoming = parse(message, { workspace: { ...workspace, team } });
    const admission = incoming && (await new Access(() => rules(more), unpaired).admit(incoming));
    expect(admission?.kind ?? 'unread').toBe(expected);
  });

  it('a press of the same id in another workspace is of another person', async () => {
    const press = parsePress(pressPayload(), 'TOTHER');
    const access = new Access(() => rules({ admins: [`${home.team}/${ada}`] }), unpaired);
    expect(press && (await access.admit(press)).kind).toBe('ignored');
  });
});

function pressPayload() {
  return {
    type: 'block_actions',
    user: { id: ada, name: 'ada', team_id: home.team },
    team: { id: home.team },
    channel: { id: 'C1' },
    container: { message_ts: ts, channel_id: 'C1', thread_ts: thread },
    message: { ts, thread_ts: thread, text: 'May I?' },
    actions: [{ type: 'button', action_id: 'button-0-0', value: 'q', action_ts: '1700000001.000001' }],
  };
}

describe('presses', () => {
  it('are where their message is', () => {
    expect(parsePress(pressPayload(), home.team)).toMatchObject({
      place: { chat: 'C1', thread },
      message: ts,
      data: 'q',
      from: { id: `${home.team}/${ada}` },
    });
    const alone = { ...pressPayload(), container: {}, message: { ts, thread_ts: ts } };
    expect(parsePress(alone, home.team)?.place.thread).toBeUndefined();
  });
});

describe('malformed deliveries of Slack', () => {
  const files = [{ id: 'F1', name: 'a', mimetype: 'text/plain', size: 1 }];
  const attachments = [{ is_share: true, text: 'x', author_name: 'M', files }];
  const good = said({ text: `${us} <https://a.b|c> !run`, thread_ts: thread, files, attachments });
  const command = { team_id: home.team, channel_id: 'C1', user_id: ada, user_name: 'ada', text: 'run ls', trigger_id: '1.2.3' };

  /** Whatever is read is whole, and from somebody who has an id that Slack gave. */
  const check = (read: () => Incoming | undefined): void => {
    let incoming: Incoming | undefined;
    try {
      incoming = read();
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
      return;
    }
    if (!incoming) return;
    expect(isPersonId(incoming.from.id)).toBe(true);
    expect(typeof incoming.from.name).toBe('string');
    expect(incoming.place.chat).toMatch(/^[CDG][A-Z0-9]+$/);
    expect(incoming.place.thread ?? ts).toMatch(/^\d+\.\d{6}$/);
    expect(Number.isNaN(incoming.at.getTime())).toBe(false);
    if (incoming.kind === 'press') expect(typeof incoming.data).toBe('string');
    else {
      expect(typeof incoming.text).toBe('string');
      for (const file of incoming.files) expect(typeof file.name).toBe('string');
    }
  };

  /** One value somewhere inside is replaced. */
  const spoiled = (value: unknown) =>
    fc.tuple(fc.constantFrom(...pathsIn(value)), fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.string())).map(([path, other]) => {
      const copy = structuredClone(value) as Record<string, unknown>;
      let at: Record<string, unknown> = copy;
      for (const step of path.slice(0, -1)) at = at[step] as Record<string, unknown>;
      at[path.at(-1) ?? ''] = other;
      return copy;
    });
  const readAll = (value: unknown): void => {
    const one = value as Record<string, unknown>;
    check(() => parseMessage(one ?? {}, facts({ root: byBob })));
    check(() => parsePress(one ?? {}, home.team));
    check(() => parseCommand(one ?? {}, home.team, names, commands));
  };

  it('any value in a message, a press or a command may be wrong without harm', () => {
    for (const whole of [good, pressPayload(), command]) {
      fc.assert(
        fc.property(spoiled(whole), (value) => readAll(value)),
        { numRuns: 1500 },
      );
    }
  });

  it('anything at all may be delivered without harm', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => readAll(value)),
      { numRuns: 500 },
    );
  });

  it('any text can be read, and nothing of it is left that Slack would read as a name', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('<', '>', '@', '!', '#', '|', 'U1', 'here', '&lt;', '&amp;', ' ', 'https://a.b', '^')),
        (parts) => {
          expect(typeof readable(parts.join(''), () => undefined)).toBe('string');
        },
      ),
      { numRuns: 1000 },
    );
  });
});

function pathsIn(value: unknown, path: readonly string[] = []): string[][] {
  const own = path.length === 0 ? [] : [[...path]];
  if (typeof value !== 'object' || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]))];
}
