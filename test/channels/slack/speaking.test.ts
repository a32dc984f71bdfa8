import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SlackClient } from '../../../src/channels/slack/client.ts';
import type { Channel, IncomingFile } from '../../../src/core/channel.ts';
import { FakeSlack } from '../../fakes/slack/server.ts';
import { ada, home } from '../../fakes/slack/world.ts';
import { channels, placeOf, type SlackHarness, slackHarness } from './harness.ts';

let harness: SlackHarness;
let channel: Channel;

beforeEach(async () => {
  harness = await slackHarness();
  channel = harness.create();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const thread = '1690000000.000200';

describe('messages on Slack', () => {
  it('are sent without mentions, previews and markup of their own', async () => {
    await channel.send(harness.direct, { text: 'hi <!channel> **bold** [link](https://example.org/?secret=1)' });
    expect(harness.slack.callsOf('chat.postMessage')[0]).toMatchObject({
      channel: channels.ada,
      text: 'hi &lt;!channel&gt; bold link',
      parse: 'none',
      link_names: 'false',
      unfurl_links: 'false',
      unfurl_media: 'false',
    });
  });

  it('are edited without mentions, and lose their buttons', async () => {
    const id = await channel.send(harness.direct, { text: 'May I?', buttons: [[{ label: 'Yes <@U1>', data: 'y' }]] });
    await channel.edit?.(harness.direct, id, { text: '<!here> done' });
    expect(harness.slack.callsOf('chat.update')[0]).toMatchObject({
      ts: id,
      text: '&lt;!here&gt; done',
      parse: 'none',
      link_names: 'false',
    });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: '<!here> done', buttons: [] }]);
  });

  it('go to the thread, also files and notices', async () => {
    const place = placeOf(channels.general, thread);
    await channel.send(place, { text: 'here' });
    await channel.send(place, { text: 'a file', file: { name: 'a.txt', data: Buffer.from('a') } });
    const press = {
      kind: 'press',
      id: 'press:1',
      place,
      from: { id: `${home.team}/${ada}`, name: 'Ada' },
      at: new Date(),
      data: 'x',
      message: '1',
    } as const;
    await channel.noticed?.(press, 'Only <!channel> for you');
    expect(harness.shown(place)).toMatchObject([{ text: 'here' }, { text: 'a file', file: { name: 'a.txt' } }]);
    expect(harness.slack.world.notices).toEqual([{ channel: channels.general, user: ada, text: 'Only &lt;!channel&gt; for you', thread }]);
  });

  it.each([
    ['channel_not_found', 'channel/refused'],
    ['not_in_channel', 'channel/refused'],
    ['missing_scope', 'channel/refused'],
    ['msg_too_long', 'channel/refused'],
    ['token_revoked', 'channel/busy'],
    ['account_inactive', 'channel/busy'],
    ['service_unavailable', 'channel/busy'],
    ['ratelimited', 'channel/busy'],
    ['internal_error', 'channel/unanswered'],
    ['fatal_error', 'channel/unanswered'],
  ])('that Slack does not take because of %s are reported as %s', async (error, code) => {
    harness.slack.fail('chat.postMessage', { error });
    await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code });
  });

  it('are shown as they were written when Slack does not take them otherwise', async () => {
    harness.slack.fail('chat.postMessage', { error: 'invalid_blocks' });
    const id = await channel.send(harness.direct, { text: '**bold**', buttons: [[{ label: 'Yes', data: 'y' }]] });
    expect(harness.shown(harness.direct)).toMatchObject([{ id, text: '**bold**', buttons: [{ label: 'Yes' }] }]);
    harness.slack.fail('chat.update', { error: 'invalid_blocks' });
    await channel.edit?.(harness.direct, id, { text: '*other*' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: '*other*', buttons: [] }]);
  });

  it('and names of files are cut between characters', async () => {
    await channel.send(harness.direct, { text: `x${'😀'.repeat(1999)}` });
    await channel.send(harness.direct, { text: '', file: { name: `x${'😀'.repeat(300)}`, data: Buffer.from('x') } });
    await channel.send(harness.direct, { text: 'x', buttons: [[{ label: '😀'.repeat(60), data: 'y' }]] });
    expect(harness.shown(harness.direct)).toHaveLength(3);
  });

  it('that a page of a proxy answers may have been sent', async () => {
    harness.slack.fail('chat.postMessage', { body: '<html>log in first</html>' });
    const error = await channel.send(harness.direct, { text: 'x' }).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'channel/unanswered' });
    expect(String(error)).not.toContain('html');
  });

  it.each([
    ['a chat', { ...placeOf('C1'), chat: '../../users.list' }],
    ['a thread', placeOf(channels.general, 'x')],
    ['a workspace', placeOf(channels.general, undefined, 'TOTHER')],
    ['a person', placeOf('U123')],
  ])('go to nothing that is not %s', async (_, place) => {
    await expect(channel.send(place, { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.slack.callsOf('chat.postMessage')).toEqual([]);
  });

  it('are aborted with the reason of the caller', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    harness.slack.fail('chat.postMessage', { after: promise });
    const given = new AbortController();
    const sending = channel.send(harness.direct, { text: 'x' }, given.signal);
    given.abort(new Error('stopped'));
    await expect(sending).rejects.toThrow('stopped');
    resolve();
  });

  it('are not repeated elsewhere when Slack leads there', async () => {
    const elsewhere = await FakeSlack.start();
    try {
      harness.slack.fail('chat.postMessage', { location: `${elsewhere.root}/chat.postMessage` });
      await expect(channel.send(harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy' });
      expect(elsewhere.calls).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });
});

describe('files that the bot sends on Slack', () => {
  const file = { name: 'plot.png', data: Buffer.from('picture') };

  it('have no addresses beside them that Slack would look at', async () => {
    await channel.send(harness.direct, { text: '[here](https://example.org)', file });
    expect(JSON.stringify(harness.slack.callsOf('files.completeUploadExternal'))).not.toContain('"link"');
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'here (https://example.org)' }]);
  });

  it('are followed by their buttons', async () => {
    const id = await channel.send(harness.direct, { text: 'Keep it?', file, buttons: [[{ label: 'Yes', data: 'y' }]] });
    expect(harness.shown(harness.direct)).toMatchObject([
      { text: '', file: { name: 'plot.png' } },
      { id, text: 'Keep it?', buttons: [{ label: 'Yes', data: 'y' }] },
    ]);
  });

  it('may be sent again when they were not shown', async () => {
    harness.slack.fail('files.getUploadURLExternal', { cut: 'after' });
    await expect(channel.send(harness.direct, { text: 'x', file })).rejects.toMatchObject({ code: 'channel/busy' });
    harness.slack.fail('upload', { cut: 'before' });
    await expect(channel.send(harness.direct, { text: 'x', file })).rejects.toMatchObject({ code: 'channel/busy' });
    expect(harness.shown(harness.direct)).toEqual([]);
    harness.slack.fail('files.completeUploadExternal', { cut: 'after' });
    await expect(channel.send(harness.direct, { text: 'x', file })).rejects.toMatchObject({ code: 'channel/unanswered' });
  });

  it('are uploaded nowhere else than to Slack', async () => {
    const elsewhere = await FakeSlack.start();
    try {
      const body = JSON.stringify({ ok: true, file_id: 'F1', upload_url: `${new URL(elsewhere.root).origin}/upload/F1` });
      harness.slack.fail('files.getUploadURLExternal', { body });
      await expect(channel.send(harness.direct, { text: 'x', file })).rejects.toMatchObject({ code: 'channel/refused' });
      expect(elsewhere.calls).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  it('can be edited and removed as messages', async () => {
    const id = await channel.send(harness.direct, { text: 'one', file });
    await channel.edit?.(harness.direct, id, { text: 'two' });
    expect(harness.shown(harness.direct)).toMatchObject([{ text: 'two', file: { name: 'plot.png' } }]);
    await channel.remove?.(harness.direct, id);
    expect(harness.shown(harness.direct)).toEqual([]);
  });

  it('can be removed when Slack never said in which message they are', async () => {
    harness.slack.fail('files.info', { error: 'missing_scope' }, 6);
    const id = await channel.send(harness.direct, { text: 'one', file });
    expect(id).toMatch(/^file:F/);
    await channel.remove?.(harness.direct, id);
    await channel.remove?.(harness.direct, id);
    expect(harness.slack.world.files.size).toBe(0);
    await expect(channel.edit?.(harness.direct, id, { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
  });
});

describe('files that people send on Slack', () => {
  const of = (id: string): IncomingFile => ({ id, name: 'a', mimeType: undefined, bytes: undefined });

  function stored(more: object = {}): IncomingFile {
    const file = harness.slack.world.store({ name: 'a', data: Buffer.alloc(1000, 'x') }, home.team);
    Object.assign(file, more);
    return of(JSON.stringify([home.team, file.id]));
  }

  it('are fetched with the token, which goes to Slack only', async () => {
    expect(await channel.fetchFile(stored(), 1000)).toHaveLength(1000);
    const elsewhere = await FakeSlack.start();
    try {
      const address = `${new URL(elsewhere.root).origin}/files-pri/F1`;
      await expect(channel.fetchFile(stored({ address }), 1000)).rejects.toMatchObject({ code: 'channel/refused' });
      harness.slack.fail('download', { location: address });
      await expect(channel.fetchFile(stored(), 1000)).rejects.toMatchObject({ code: 'channel/refused' });
      expect(elsewhere.calls).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  it.each(['https://evil.example/x', 'http://files.slack.com/x', 'https://files.slack.com.evil.example/x', 'file:///etc/passwd', 'x'])(
    'are not fetched from %s',
    async (address) => {
      const client = new SlackClient({ token: 'xoxb-1', apiRoot: undefined });
      await expect(client.download(address, 10)).rejects.toThrow('not one of Slack');
      await expect(client.upload(address, Buffer.from('x'), {})).rejects.toThrow('not one of Slack');
    },
  );

  it('are refused when they are larger than they said', async () => {
    await expect(channel.fetchFile({ ...stored(), bytes: 10 }, 999)).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it.each(['x', '', 'null', '[]', '["T1"]', '["T1","../F1"]', '[1,"F1"]', '{}'])('are not found by %j', async (id) => {
    await expect(channel.fetchFile(of(id), 10)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.slack.calls).toEqual([]);
  });

  it('are refused when they are gone, or never were at Slack', async () => {
    await expect(channel.fetchFile(of(JSON.stringify([home.team, 'F9'])), 10)).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(channel.fetchFile(stored({ external: true }), 1000)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.slack.callsOf('download')).toEqual([]);
  });
});
