import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Health } from '../../../src/channels/health.ts';
import { RecentMessages } from '../../../src/channels/recent-messages.ts';
import { LastIncoming } from '../../../src/channels/whatsapp-cloud/last-incoming.ts';
import { Listener } from '../../../src/channels/whatsapp-cloud/listener.ts';
import { type Channel, reactionPrefix } from '../../../src/core/channel.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { ada, bob, business, type FakePerson } from '../../fakes/whatsapp-cloud/world.ts';
import { until } from '../../until.ts';
import { placeOf, type WhatsAppCloudHarness, whatsAppCloudHarness } from './harness.ts';
import { Kept } from './kept.ts';

let harness: WhatsAppCloudHarness;
let channel: Channel;
let accepted: Accepted;
let kept: Kept;

beforeEach(async () => {
  harness = await whatsAppCloudHarness();
  kept = new Kept();
  channel = harness.channel({ deliveries: kept });
  accepted = new Accepted();
});
afterEach(async () => {
  await channel.stop();
  await harness.close();
});

const timestamp = String(Math.floor(Date.now() / 1000));
const message = (id: string, body: unknown, from = ada.id) => ({ from, id, timestamp, type: 'text', text: { body } });
const change = (value: Record<string, unknown>, field = 'messages') => ({
  field,
  value: { messaging_product: 'whatsapp', metadata: { display_phone_number: business.digits, phone_number_id: business.id }, ...value },
});

describe('deliveries', () => {
  it('delivers nothing of a body with a bad signature, and answers 401', async () => {
    await channel.start(accepted.accept);
    const body = harness.cloud.bodyOf([change({ messages: [message('wamid.1', 'let me in')] })]);
    expect((await harness.cloud.post(body, { secret: 'guessed' })).status).toBe(401);
    harness.cloud.world.says({ text: 'really from Meta' });
    await accepted.message();
    expect(accepted.texts).toEqual(['really from Meta']);
    expect(kept.aside).toEqual([]);
  });

  it('accepts all messages of one body in order before it answers', async () => {
    await channel.start(accepted.accept);
    const messages = Array.from({ length: 200 }, (_, index) => message(`wamid.${index}`, `word ${index}`));
    const body = harness.cloud.bodyOf([change({ messages: messages.slice(0, 100) }), change({ messages: messages.slice(100) })]);
    expect((await harness.cloud.post(body)).status).toBe(200);
    expect(accepted.texts).toEqual(messages.map(({ text }) => text.body));
  });

  it('gives a body that is delivered again the same ids', async () => {
    await channel.start(accepted.accept);
    const body = harness.cloud.bodyOf([change({ messages: [message('wamid.1', 'again')] })]);
    for (const _ of [1, 2]) expect((await harness.cloud.post(body)).status).toBe(200);
    expect(accepted.all.map(({ id }) => id)).toEqual(['wamid.1', 'wamid.1']);
  });

  it('confirms and ignores what is for another number of the app, or nothing of a person', async () => {
    await channel.start(accepted.accept);
    const { world } = harness.cloud;
    const stranger = { messages: [message('wamid.9', 'to another number')] };
    world.push(ada.id, stranger, 'messages', '999');
    world.push(ada.id, { statuses: [{ id: 'wamid.1', status: 'delivered', timestamp: '1', recipient_id: ada.id }] });
    world.push(ada.id, { event: 'APPROVED' }, 'message_template_status_update');
    world.push(ada.id, { messages: [{ ...message('wamid.8', ''), type: 'system', system: { body: 'a new number' } }] });
    world.push(ada.id, { errors: [{ code: 130_429, title: 'Rate limit hit' }] });
    await until('all is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.all).toEqual([]);
    expect(kept.aside).toEqual([]);
    expect(harness.log).toEqual([]);
  });

  it('logs why a message was not delivered, and nothing of the message', async () => {
    await channel.start(accepted.accept);
    const status = (code: number, title: string) => ({
      id: 'wamid.1',
      status: 'failed',
      recipient_id: ada.id,
      errors: [{ code, title, message: title }],
    });
    harness.cloud.world.push(ada.id, { statuses: [status(131_047, 'Re-engagement message'), status(131_049, 'Not\ndelivered\u001b[31m')] });
    await until('both are logged', () => harness.log.length === 2);
    expect(harness.log[0]).toMatch(/more than 24 hours have passed.*\(131047\)/);
    expect(harness.log[1]).toBe('WhatsApp Cloud did not deliver a message: Not delivered [31m (131049).');
  });

  it('delivers a reaction to a message of ours as a press, and not that it was taken back', async () => {
    await channel.start(accepted.accept);
    const id = await channel.send(harness.direct, { text: 'May I?' });
    harness.cloud.world.reacts(ada, id, '👍🏽');
    harness.cloud.world.reacts(ada, id, undefined);
    harness.cloud.world.reacts(ada, id, '');
    await until('all is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.all).toMatchObject([{ kind: 'press', data: `${reactionPrefix}👍🏽`, message: id, from: { id: ada.id } }]);
  });

  it('quotes one of our messages with our name, and an unknown one without a text', async () => {
    await channel.start(accepted.accept);
    const id = await channel.send(harness.direct, { text: 'our **words**' });
    harness.userSays(harness.direct, { text: 'to ours', repliesTo: id });
    harness.userSays(harness.direct, { text: 'to an old one', repliesTo: 'wamid.old' });
    // What was said in another chat is nobody's business here.
    harness.userSays(harness.otherDirect, { text: 'to a stranger', repliesTo: id });
    await until('all are accepted', () => accepted.all.length === 3);
    const quoted = new Map(accepted.messages.map((one) => [one.text, one.quoted]));
    expect(quoted.get('to ours')).toEqual({ from: business.name, text: 'our **words**' });
    expect(quoted.get('to an old one')).toEqual({ from: '', text: '' });
    expect(quoted.get('to a stranger')).toEqual({ from: '', text: '' });
  });

  it('talks with a person who hides their number', async () => {
    const hidden: FakePerson = { id: 'US.13491208655302741918', name: 'Cleo' };
    await channel.start(accepted.accept);
    harness.cloud.world.says({ from: hidden, text: 'hello' });
    expect(await accepted.message()).toMatchObject({ from: { id: hidden.id, name: 'Cleo' }, place: placeOf(hidden) });
    await channel.send(placeOf(hidden), { text: 'hello to you' });
    expect(harness.cloud.world.sent).toMatchObject([{ to: hidden.id, body: { recipient: hidden.id } }]);
  });
});

describe('what cannot be accepted', () => {
  const post = (text: string) => harness.cloud.post(text);

  it.each([
    ['no JSON', '{"object":'],
    ['not an object', '[]'],
    ['of another product', '{"object":"page","entry":[]}'],
    ['without changes', '{"object":"whatsapp_business_account","entry":[{}]}'],
  ])('sets a signed body aside that is %s, and goes on', async (_, body) => {
    await channel.start(accepted.accept);
    expect((await post(body)).status).toBe(200);
    expect(kept.aside).toMatchObject([{ id: expect.stringMatching(/^delivery [0-9a-f]{32}$/), content: body, tries: 5 }]);
    expect(kept.aside[0]?.reason).not.toContain('object"');
    harness.cloud.world.says({ text: 'after it' });
    await accepted.message();
    expect(channel.state.kind).toBe('up');
  });

  it('accepts the other messages of a body with one that cannot be read', async () => {
    await channel.start(accepted.accept);
    const messages = [message('wamid.1', 'before'), message('wamid.2', { not: 'text' }), null, message('wamid.3', 'after')];
    const other = change({ messages: [message('wamid.4', 'elsewhere', bob.id)] });
    expect((await post(harness.cloud.bodyOf([change({ messages }), { field: 'messages', value: { metadata: 7 } }, other]))).status).toBe(
      200,
    );
    expect(accepted.texts.toSorted()).toEqual(['after', 'before', 'elsewhere']);
    expect(kept.aside.map(({ id }) => id.split(' ')[0]).toSorted()).toEqual(['delivery', 'message', 'wamid.2']);
    // It comes again although it was confirmed, and is set aside already.
    expect((await post(harness.cloud.bodyOf([change({ messages: [messages[1]] })]))).status).toBe(200);
    expect(kept.aside).toHaveLength(3);
  });

  it('sets a message aside after five failed tries, and accepts the next one', async () => {
    kept.tries.set('wamid.1', 3);
    await channel.start(async (incoming) => {
      if (incoming.id === 'wamid.1') throw new TypeError('no such thing');
      await accepted.accept(incoming);
    });
    const body = harness.cloud.bodyOf([change({ messages: [message('wamid.1', 'poison'), message('wamid.2', 'after it')] })]);
    expect((await post(body)).status).toBe(200);
    expect(kept.aside).toMatchObject([{ id: 'wamid.1', tries: 5, reason: 'no such thing' }]);
    expect(accepted.texts).toEqual(['after it']);
  });

  it('reports itself as down while messages cannot be stored, and has them come again', async () => {
    let isBroken = true;
    accepted.hold = async () => {
      if (isBroken) throw new HermeticError('store/failed', 'no space left');
    };
    await channel.start(accepted.accept);
    harness.userSays(harness.direct, { text: 'keep' });
    await until('it is down', () => channel.state.kind === 'down' && channel.state.reason.includes('no space left'));
    expect(harness.unconfirmed()).toBe(1);
    isBroken = false;
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.texts).toEqual(['keep']);
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('keeps Meta waiting for a while only, and accepts once what comes again meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    accepted.hold = () => promise;
    const health = new Health('WhatsApp Cloud', () => undefined);
    const parts = { phoneNumberId: business.id, recent: new RecentMessages(), last: new LastIncoming(), log: () => undefined, health };
    const listener = new Listener({
      ...parts,
      accept: accepted.accept,
      deliveries: kept,
      signal: new AbortController().signal,
      answerMs: 50,
    });
    const body = Buffer.from(harness.cloud.bodyOf([change({ messages: [message('wamid.1', 'slow')] })]));
    expect(await listener.deliver(body)).toBe(false);
    expect(await listener.deliver(body)).toBe(false);
    const last = listener.deliver(body);
    resolve();
    expect(await last).toBe(true);
    expect(accepted.texts).toEqual(['slow']);
  });
});

describe('the connection', () => {
  const downReason = () => until('it is down', () => (channel.state.kind === 'down' ? channel.state.reason : undefined));

  it('reports a revoked token', async () => {
    await channel.start(accepted.accept);
    harness.cloud.fail('number', { status: 401, code: 190 });
    expect(await downReason()).toBe('WhatsApp Cloud: the token is not accepted (190).');
    // What is delivered is signed with the secret of the app, and goes on.
    harness.userSays(harness.direct, { text: 'still here' });
    await accepted.message();
  });

  it.each([
    ['an error of Meta', { status: 500, code: 2 }],
    ['a page of a proxy', { status: 200, text: '<html>log in first</html>' }],
    ['an answer that is something else', { status: 200, text: '[]' }],
  ])('recovers from %s', async (_, failure) => {
    await channel.start(accepted.accept);
    harness.cloud.fail('number', failure, failure);
    await downReason();
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('logs nothing when a connection ends once', async () => {
    await channel.start(accepted.accept);
    const { calls } = harness.cloud;
    harness.cloud.fail('number', { cut: 'before' });
    const before = calls.length;
    await until('it was asked again', () => calls.length > before + 3);
    expect(channel.state.kind).toBe('up');
    expect(harness.log).toEqual([]);
  });

  it('does not start with a number that Meta does not know', async () => {
    harness.cloud.fail('number', { status: 400, code: 100 });
    await expect(channel.start(accepted.accept)).rejects.toMatchObject({ code: 'channel/unusable' });
  });

  it('does not start without a number, or with what is no token', async () => {
    const without = harness.channel({ options: { phone_number_id: undefined } });
    await expect(without.start(accepted.accept)).rejects.toMatchObject({
      code: 'channel/unusable',
      hint: expect.stringContaining('phone_number_id'),
    });
    for (const token of ['', 'two words of it that are long enough', 'EAAG\r\nX-Header: injected-by-a-token', 'short']) {
      const wrong = harness.channel({ token });
      await expect(wrong.start(accepted.accept)).rejects.toMatchObject({ code: 'channel/unusable' });
      await wrong.typing?.(harness.direct);
    }
    expect(harness.cloud.calls).toEqual([]);
  });

  it('does not start with an empty secret, with which everybody could sign', async () => {
    for (const secrets of [{ appSecret: '' }, { verifyToken: '' }]) {
      const wrong = harness.channel(secrets);
      await expect(wrong.start(accepted.accept)).rejects.toMatchObject({
        code: 'channel/unusable',
        hint: expect.stringContaining('app_secret_env'),
      });
    }
  });

  it('names the port when another program uses it', async () => {
    await channel.start(accepted.accept);
    const second = harness.channel();
    await expect(second.start(accepted.accept)).rejects.toMatchObject({
      code: 'channel/unusable',
      message: expect.stringContaining(`port ${harness.port}`),
    });
    expect(second.state).toMatchObject({ kind: 'down', reason: expect.stringContaining(`port ${harness.port}`) });
    await second.stop();
  });

  it('answers the verification of the webhook', async () => {
    await channel.start(accepted.accept);
    const query = new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': harness.cloud.verifyToken, 'hub.challenge': '4711' });
    expect(await (await fetch(`${harness.cloud.webhook}?${query}`)).text()).toBe('4711');
  });
});
