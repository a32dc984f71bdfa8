import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../src/core/channel.ts';
import type { SessionKey } from '../../src/core/session.ts';
import { sessionId, sessionPartsText } from '../../src/core/session.ts';
import { sessionKeyOf } from '../../src/gateway/sessions/session-key.ts';
import { says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

const group = { chat: 'team', isAddressed: true };

describe('session keys', () => {
  const at = (place: Partial<SessionKey>, isDirect: boolean, user = 'u'): IncomingMessage => ({
    ...{ kind: 'message', id: '1', from: { id: user, name: 'X' }, at: new Date(), text: '', isAddressed: true, quoted: undefined },
    place: { platform: 'p', workspace: undefined, chat: 'c', thread: undefined, ...place },
    isDirect,
    files: [],
  });
  const perUser = { groups: 'per_user', threads: 'per_user' } as const;
  const shared = { groups: 'shared', threads: 'shared' } as const;

  it('gives each person their own session in direct messages, in spite of sharing', () => {
    expect(sessionKeyOf(at({}, true), shared).user).toBe('u');
    expect(sessionKeyOf(at({ thread: 't' }, true), shared).user).toBe('u');
  });

  it('shares a session in groups and in threads as configured', () => {
    expect(sessionKeyOf(at({}, false), perUser).user).toBe('u');
    expect(sessionKeyOf(at({}, false), shared).user).toBeUndefined();
    expect(sessionKeyOf(at({ thread: 't' }, false), { groups: 'per_user', threads: 'shared' }).user).toBeUndefined();
    expect(sessionKeyOf(at({ thread: 't' }, false), { groups: 'shared', threads: 'per_user' }).user).toBe('u');
  });

  it('gives different places and people different session ids, for any names', () => {
    const hostile = fc.oneof(fc.string(), fc.constantFrom('a', 'a:b', 'b', '"', '\\', 'null', '"a"', '","', '[]', '', '\u0000'));
    const key = fc.record({
      platform: hostile,
      workspace: fc.option(hostile, { nil: undefined }),
      chat: hostile,
      thread: fc.option(hostile, { nil: undefined }),
      user: fc.option(hostile, { nil: undefined }),
    });
    fc.assert(
      fc.property(key, key, (one, other) => {
        const isSame = JSON.stringify(sessionId(one).parts) === JSON.stringify(sessionId(other).parts);
        const fields = ['platform', 'workspace', 'chat', 'thread', 'user'] as const;
        expect(isSame).toBe(fields.every((field) => one[field] === other[field]));
      }),
      { numRuns: 2000, seed: 10 },
    );
    const parts = [
      { chat: 'a', thread: 'b', user: undefined },
      { chat: 'a', thread: undefined, user: 'b' },
      { chat: 'a:b', thread: undefined, user: undefined },
      { chat: 'a', thread: 'null', user: undefined },
      { chat: 'a', thread: undefined, user: undefined },
    ].map((some) => JSON.stringify(sessionId({ platform: 'p', workspace: undefined, ...some }).parts));
    expect(new Set(parts).size).toBe(parts.length);
  });

  it('shows a session without its missing parts', () => {
    const key = { platform: 'telegram', workspace: undefined, chat: '-100', thread: undefined, user: '1001' };
    expect(sessionPartsText(sessionId(key).parts)).toBe('telegram -100 1001');
    expect(sessionPartsText(['cli', 'work'])).toBe('cli work');
  });
});

describeContained('access to the gateway', async () => {
  const rig = await Rig.start({ script: ({ messages }) => says(`heard ${messages.filter(({ role }) => role === 'user').length}`) });
  afterAll(() => rig.close());

  it('a stranger in a direct message gets one code, and no message reaches the agent', async () => {
    const before = rig.model.requests.length;
    await rig.say('let me in', { from: 'mallory' });
    await rig.say('hello?', { from: 'mallory' });
    await rig.say('/run id', { from: 'mallory' });
    await rig.shows(/hermetic pairing approve [A-Z0-9]{8}/, 'mallory');
    await rig.quiet();
    expect(rig.texts('mallory').length).toBe(1);
    expect(rig.model.requests.length).toBe(before);
  });

  it('every stranger gets a separate code, also where platforms count messages per chat', async () => {
    await rig.say('hi', { from: 'stranger-1', id: '1' });
    await rig.say('hi', { from: 'stranger-2', id: '1' });
    await rig.shows('pairing approve', 'stranger-1');
    await rig.shows('pairing approve', 'stranger-2');
    expect(rig.texts('stranger-1')).not.toEqual(rig.texts('stranger-2'));
  });

  it('a stranger in a group gets no answer, also with a mention and with a button', async () => {
    await rig.say('hey', { from: 'mallory', ...group, chat: 'quiet-group' });
    await rig.press('Once', { from: 'mallory', chat: 'quiet-group' });
    await rig.quiet();
    expect(rig.texts('quiet-group')).toEqual([]);
    expect(rig.noticed).toEqual([]);
  });

  it('an admin admits a stranger by the code, and can revoke the access', async () => {
    await rig.say('let me in', { from: 'nina' });
    const [, code = ''] = /approve (\w+)/.exec(await rig.shows('pairing approve', 'nina')) ?? [];
    await rig.say(`/pair ${code.toLowerCase()}`, { from: 'bob' });
    await rig.shows('/pair is for admins', 'bob');
    await rig.say('/pair WRONGONE');
    await rig.shows('not valid or has expired');
    await rig.say(`/pair ${code.toLowerCase()}`);
    await rig.shows('`nina` on fake can talk to me now, as user');
    await rig.say('thank you', { from: 'nina' });
    await rig.shows('heard 1', 'nina');
    await rig.quiet();
    await rig.store.pairing.revoke('fake', 'nina', 'test', new Date());
    const before = rig.model.requests.length;
    await rig.say('still there?', { from: 'nina' });
    await rig.quiet();
    expect(rig.model.requests.length).toBe(before);
  });

  it('does not answer waiting messages of a person who lost access', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await rig.store.pairing.request(
      { platform: 'fake', person: 'olga', name: 'Olga', requestedAt: new Date(), expiresAt: new Date(Date.now() + 60_000) },
      'ABCDEFGH',
    );
    await rig.store.pairing.approve('ABCDEFGH', 'test', 'user', new Date());
    rig.settings.busyMode = 'queue';
    const { script } = rig.model;
    rig.model.script = async () => {
      await held;
      return says('the first');
    };
    const before = rig.model.requests.length;
    await rig.say('one', { from: 'olga' });
    await until('the first is under way', () => rig.model.requests.length > before);
    await rig.say('two', { from: 'olga' });
    await rig.store.pairing.revoke('fake', 'olga', 'test', new Date());
    release();
    await rig.shows('the first', 'olga');
    await rig.quiet();
    rig.model.script = script;
    rig.settings.busyMode = 'interrupt';
    expect(rig.lastPrompt).not.toContain('two');
    expect(rig.texts('olga')).toEqual(['the first']);
  });

  it('hears only addressed messages in a group, unless require_mention is off', async () => {
    await rig.say('talking among ourselves', { from: 'bob', chat: 'team', isAddressed: false });
    await rig.quiet();
    expect(rig.texts('team')).toEqual([]);
    await rig.say('and you?', { from: 'bob', ...group });
    await rig.shows('heard 1', 'team');
    rig.rules.requireMention = false;
    await rig.say('again', { from: 'bob', chat: 'open', isAddressed: false });
    await rig.shows('heard 1', 'open');
    rig.rules.requireMention = true;
  });

  it('people in a group have separate conversations, and one together where it is shared', async () => {
    await rig.say('mine', { from: 'bob', ...group, chat: 'apart' });
    await rig.shows('heard 1', 'apart');
    await rig.say('and mine', { from: 'cleo', ...group, chat: 'apart' });
    await rig.quiet();
    expect(rig.texts('apart')).toEqual(['heard 1', 'heard 1']);
    rig.settings.sharing = { groups: 'shared', threads: 'shared' };
    await rig.say('ours', { from: 'bob', ...group, chat: 'together' });
    await rig.shows('heard 1', 'together');
    await rig.say('ours too', { from: 'cleo', ...group, chat: 'together' });
    await rig.shows('heard 2', 'together');
    expect(rig.lastPrompt).toMatch(/from="Bob">\nours\n[\s\S]*from="Cleo">\nours too\n/);
    rig.settings.sharing = { groups: 'per_user', threads: 'shared' };
  });

  it('allow_all admits every person as a user, not as an admin', async () => {
    rig.rules.allowAll = true;
    await rig.say('/whoami', { from: 'anybody' });
    await rig.shows('Your role: user.', 'anybody');
    await rig.say('/yolo', { from: 'anybody' });
    await rig.shows('/yolo is for admins', 'anybody');
    rig.rules.allowAll = false;
  });
});
