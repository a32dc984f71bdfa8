import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import type { Failure } from '../../fakes/signal/daemon.ts';
import { ada, us } from '../../fakes/signal/world.ts';
import { until } from '../../until.ts';
import { groupPlace, placeOf, type SignalHarness, signalHarness } from './harness.ts';

let harness: SignalHarness;
let channel: Channel;
const place = placeOf(ada.uuid);

beforeEach(async () => {
  harness = await signalHarness();
  channel = harness.create();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const sent = () => harness.daemon.world.sent;
const edit = async (id: string, text: string, by = channel): Promise<void> => await by.edit?.(place, id, { text });

describe('editing', () => {
  it('names the latest form of a message, so that apps take every edit', async () => {
    const id = await channel.send(place, { text: 'one' });
    for (const text of ['two', 'three', 'four']) await edit(id, text);
    expect(sent()[0]?.versions).toEqual(['one', 'two', 'three', 'four']);
    expect(harness.daemon.world.ignoredEdits).toEqual([]);
  });

  it('names the latest form of a message that an earlier program edited', async () => {
    const id = await channel.send(place, { text: 'one' });
    await edit(id, 'two');
    await edit(id, 'three', harness.create());
    expect(sent()[0]?.versions).toEqual(['one', 'two', 'three']);
    expect(harness.daemon.world.ignoredEdits).toEqual([]);
  });

  it('refuses an edit that apps would ignore, because it is one too many', async () => {
    const id = await channel.send(place, { text: 'version 0' });
    for (let number = 1; number <= 10; number += 1) await edit(id, `version ${number}`);
    await expect(edit(id, 'version 11')).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(edit(id, 'version 11', harness.create())).rejects.toMatchObject({ code: 'channel/refused' });
    expect(sent()[0]?.versions.at(-1)).toBe('version 10');
    expect(harness.daemon.world.ignoredEdits).toEqual([]);
  });

  it('refuses further edits when it is unknown whether the last one was taken', async () => {
    const id = await channel.send(place, { text: 'one' });
    harness.daemon.fail('edit', { cut: 'after' });
    await expect(edit(id, 'two')).rejects.toMatchObject({ code: 'channel/unanswered' });
    await expect(edit(id, 'three')).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(edit(id, 'three', harness.create())).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.daemon.world.ignoredEdits).toEqual([]);
  });

  it('edits again after an edit that was not taken', async () => {
    const id = await channel.send(place, { text: 'one' });
    harness.failEdit({ retryAfterSeconds: 1 });
    await expect(edit(id, 'two')).rejects.toMatchObject({ code: 'channel/busy' });
    await edit(id, 'two');
    expect(sent()[0]?.versions).toEqual(['one', 'two']);
  });

  it('forgets edits of messages that are too old to be edited', async () => {
    await harness.notes.write({ 'edit:1000': '2000:3' });
    const id = await channel.send(place, { text: 'one' });
    await edit(id, 'two');
    expect([...harness.notes.all.keys()]).toEqual([`edit:${id}`]);
  });

  it('removes a message that was edited, and finds it by a reaction', async () => {
    const accepted = new Accepted();
    await channel.start(accepted.accept);
    const id = await channel.send(place, { text: 'one' });
    await edit(id, 'two');
    harness.daemon.world.reacts('👍', { author: us, timestamp: sent()[0]?.timestamps.at(-1) ?? 0 });
    expect(await until('it is pressed', () => accepted.all.find(({ kind }) => kind === 'press'))).toMatchObject({ message: id });
    await channel.remove?.(place, id);
    expect(sent()).toEqual([]);
  });
});

describe('what is sent', () => {
  it('has its styles beside the text', async () => {
    await channel.send(groupPlace, { text: '😀 **bold** and `code`' });
    expect(sent()).toMatchObject([{ chat: groupPlace.chat, versions: ['😀 bold and code'], styles: ['3:4:BOLD', '12:4:MONOSPACE'] }]);
  });

  it('mentions nobody and has no preview, whatever it says', async () => {
    await channel.send(groupPlace, { text: `@everyone @Ada ${ada.number} \ufffc https://example.org` });
    const { params } = harness.daemon.calls.at(-1) ?? {};
    expect(Object.keys(params ?? {}).toSorted()).toEqual(['account', 'groupId', 'message']);
  });

  it('gives a file as data, and never as the path of one', async () => {
    await channel.send(place, { text: '', file: { name: '/etc/passwd', data: Buffer.from('mine') } });
    expect(harness.daemon.calls.at(-1)?.params.attachments).toEqual([`data:text/plain;filename=_etc_passwd;base64,${btoa('mine')}`]);
    await expect(channel.send(place, { text: 'x', file: { name: 'a', data: Buffer.alloc(0) } })).rejects.toMatchObject({
      code: 'channel/refused',
    });
  });

  it.each(['', 'x', '+15550000002', 'group:', 'group:../x', 'group:a b', `${ada.uuid}x`, '__proto__'])(
    'goes nowhere when the chat is %j',
    async (chat) => {
      await expect(channel.send(placeOf(chat), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
      await channel.typing?.(placeOf(chat));
      expect(harness.daemon.calls).toEqual([]);
    },
  );

  it.each(['x', '', '-1', '1.5', `${ada.uuid}:5`, '9'.repeat(30)])('edits and removes nothing under the id %j', async (id) => {
    await expect(edit(id, 'x')).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(channel.remove?.(place, id)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(harness.daemon.calls).toEqual([]);
  });
});

describe('failures', () => {
  const failed = (type: string, more: object = {}) => ({ data: { response: { timestamp: 1, results: [{ type, ...more }] } } });
  it.each<[string, Failure, object]>([
    [
      'somebody who left Signal',
      { error: { code: -1, message: 'Failed to send message', ...failed('UNREGISTERED_FAILURE') } },
      { code: 'channel/refused' },
    ],
    [
      'a safety number that changed',
      { error: { code: -4, message: 'untrusted', ...failed('IDENTITY_FAILURE') } },
      { code: 'channel/refused' },
    ],
    [
      'a limit',
      { error: { code: -1, message: 'Failed', ...failed('RATE_LIMIT_FAILURE', { retryAfterSeconds: 60 }) } },
      { code: 'channel/busy', retryAfterMs: 60_000 },
    ],
    [
      'a limit in words',
      { error: { code: -32_603, message: 'Failed: [429] Rate limit exceeded (RateLimitException)' } },
      { code: 'channel/busy' },
    ],
    [
      'no network behind the daemon',
      { error: { code: -1, message: 'Failed', ...failed('NETWORK_FAILURE') } },
      { code: 'channel/unanswered' },
    ],
    [
      'a device that is no longer linked',
      { error: { code: -32_603, message: '[401] Authorization failed!' } },
      { code: 'channel/busy', hint: expect.stringContaining('Link') },
    ],
    ['an account that is gone', { error: { code: -32_602, message: 'Specified account does not exist' } }, { code: 'channel/busy' }],
    ['a failure inside', { error: { code: -32_603, message: 'null' } }, { code: 'channel/unanswered' }],
    ['a file that is none', { error: { code: -32_603, message: 'Failed (AttachmentInvalidException)' } }, { code: 'channel/refused' }],
    ['a daemon at another address', { status: 404 }, { code: 'channel/busy' }],
  ])('reports whether a message may be sent again: %s', async (_, failure, expected) => {
    harness.daemon.fail('send', failure);
    await expect(channel.send(place, { text: 'x' })).rejects.toMatchObject(expected);
  });

  it('refuses a file that is larger than was announced', async () => {
    const accepted = new Accepted();
    await channel.start(accepted.accept);
    harness.daemon.world.says({ files: [{ name: 'a', data: Buffer.alloc(9000) }] });
    const [file] = (await accepted.message()).files;
    if (!file) throw new Error('no file');
    await expect(channel.fetchFile({ ...file, bytes: 1 }, 8999)).rejects.toMatchObject({ code: 'channel/refused' });
    expect(await channel.fetchFile({ ...file, bytes: 1 }, 9000)).toHaveLength(9000);
  });
});
