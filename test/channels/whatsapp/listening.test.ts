import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Deliveries, SetAside } from '../../../src/core/set-aside.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { FakePerson } from '../../fakes/whatsapp/person.ts';
import { group } from '../../fakes/whatsapp/server.ts';
import { until } from '../../until.ts';
import { channelAt, placeOf, type WhatsAppHarness, whatsappHarness } from './harness.ts';

let harness: WhatsAppHarness;
let accepted: Accepted;
let created: Channel[];
let unhandled: unknown[];
const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
beforeEach(async () => {
  harness = await whatsappHarness();
  accepted = new Accepted();
  created = [];
  unhandled = [];
  process.on('unhandledRejection', onUnhandled);
});
afterEach(async () => {
  await Promise.all(created.map((one) => one.stop()));
  await harness.close();
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
});

const create = (options: Record<string, unknown> = {}, deliveries?: Deliveries): Channel => {
  const channel = channelAt(harness.server, harness.notes, () => undefined, { options, deliveries });
  created.push(channel);
  return channel;
};
const start = async (options?: Record<string, unknown>, deliveries?: Deliveries): Promise<Channel> => {
  const channel = create(options, deliveries);
  await channel.start(accepted.accept);
  return channel;
};
/** What a person says last, after which everything before was seen. */
const marked = async (text = 'the end'): Promise<void> => {
  harness.userSays(harness.otherDirect, { text });
  await accepted.message((message) => message.text === text);
};

describe('nothing is lost', () => {
  it('WhatsApp is told that a message arrived only when it is kept, and its keys with it', async () => {
    await start();
    const { server, notes } = harness;
    const disk = Promise.withResolvers<void>();
    const write = notes.write.bind(notes);
    let writes = 0;
    notes.write = async (changes) => {
      const isArrival = Object.keys(changes).some((key) => key.startsWith('arrived:') && changes[key] !== undefined);
      if (isArrival) {
        expect(Object.keys(changes).some((key) => key.startsWith('key:session:'))).toBe(true);
        writes += 1;
        await disk.promise;
      }
      await write(changes);
    };
    harness.userSays(harness.direct, { text: 'keep me' });
    await until('it is being written', () => writes === 1);
    expect(server.unconfirmed.size).toBe(1);
    expect(accepted.all).toEqual([]);
    disk.resolve();
    await accepted.message();
    await until('WhatsApp is told', () => server.unconfirmed.size === 0);
  });

  it('a message that was kept, and whose connection broke before WhatsApp was told, is accepted all the same', async () => {
    await start();
    const { server, notes } = harness;
    const write = notes.write.bind(notes);
    let hasFallen = false;
    notes.write = async (changes) => {
      await write(changes);
      if (hasFallen || !Object.keys(changes).some((key) => key.startsWith('arrived:'))) return;
      hasFallen = true;
      await server.goDown();
    };
    harness.userSays(harness.direct, { text: 'through it all' });
    expect(await accepted.message()).toMatchObject({ text: 'through it all' });
    await server.comeUp();
    await until('it is confirmed after all', () => server.unconfirmed.size === 0);
    await marked();
    expect(accepted.texts).toEqual(['through it all', 'the end']);
  });

  it('a message is accepted that arrives while something is sent and the channel begins to listen', async () => {
    const { server } = harness;
    const answered = Promise.withResolvers<void>();
    server.fail('send', { answered: answered.promise });
    const channel = create();
    const sending = channel.send(harness.direct, { text: 'from before' });
    await until('it is there', () => server.sent.length === 1);
    const starting = channel.start(accepted.accept);
    await setImmediate();
    harness.userSays(harness.direct, { text: 'meanwhile' });
    await until('it is kept', () => server.receipts.length > 0);
    // WhatsApp ends one of two connections of a device.
    expect(server.connections).toBe(1);
    answered.resolve();
    await sending;
    await starting;
    expect(await accepted.message()).toMatchObject({ text: 'meanwhile' });
  });

  it('what is said while there is no connection does not keep the channel from listening, and is said then', async () => {
    const { server } = harness;
    await server.goDown();
    const channel = create();
    const sending = channel.send(harness.direct, { text: 'from before' });
    const starting = channel.start(accepted.accept);
    await server.comeUp();
    await starting;
    await sending;
    await until('it is there', () => server.sent.length === 1);
    expect(server.connections).toBe(1);
  });

  it('messages that cannot be stored wait, the state says why, and they are accepted in order', async () => {
    const channel = await start();
    for (let count = 0; count < 2; count += 1) harness.notes.failures.push(new HermeticError('store/failed', 'The disk is full.'));
    harness.userSays(harness.direct, { text: 'one' });
    harness.userSays(harness.direct, { text: 'two' });
    await until('it is down', () => channel.state.kind === 'down');
    expect(channel.state).toMatchObject({ reason: expect.stringContaining('The disk is full.') });
    await until('both are accepted', () => accepted.all.length === 2);
    expect(accepted.texts).toEqual(['one', 'two']);
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('a message that cannot be read is set aside, and those after it are accepted', async () => {
    const aside: Pick<SetAside, 'id' | 'reason' | 'content' | 'tries'>[] = [];
    const deliveries: Deliveries = { trying: async () => new Map(), setAside: async (one) => void aside.push(one) };
    await start({}, deliveries);
    const { server } = harness;
    // Ids are chosen by the programs of senders.
    server.says(server.ada, 'no id/at all', { conversation: 'broken' });
    harness.userSays(harness.direct, { text: 'whole' });
    await accepted.message();
    expect(aside).toMatchObject([{ reason: expect.stringContaining('it has no id') }]);
    expect(accepted.texts).toEqual(['whole']);
    await until('everything is confirmed', () => harness.unconfirmed() === 0);
  });

  it('what is no message of the protocol ends at most the connection, never the program', async () => {
    await start();
    const { server } = harness;
    server.push({ tag: 'message', attrs: {} });
    server.push({
      tag: 'message',
      attrs: { from: server.ada.jid, id: 'x' },
      content: [{ tag: 'enc', attrs: { type: 'msg' }, content: Buffer.from('no') }],
    });
    server.push({
      tag: 'message',
      attrs: { from: group, id: 'y' },
      content: [{ tag: 'enc', attrs: { type: 'skmsg' }, content: Buffer.alloc(70) }],
    });
    server.push({ tag: 'receipt', attrs: { type: 'retry' } });
    server.push({ tag: 'notification', attrs: { type: 'w:gp2', from: group }, content: [{ tag: 'create', attrs: {} }] });
    server.push({ tag: 'iq', attrs: { type: 'set' }, content: [{ tag: 'pair-success', attrs: {} }] });
    server.push({ tag: 'iq', attrs: { type: 'set', id: 'z' }, content: [{ tag: 'pair-device', attrs: {} }] });
    server.pushRaw(Buffer.from([0, 1, 2, 3]));
    server.push({ tag: 'ack', attrs: { class: 'message', error: '479' } });
    await until('it is connected again', () => server.logins >= 2);
    await marked();
    expect(accepted.texts).toEqual(['the end']);
  });
});

describe('who is meant', () => {
  it('a person has one id, in a direct chat and in a group that names them by another number', async () => {
    await start();
    harness.userSays(harness.group, { text: 'in the group' });
    harness.userSays(harness.direct, { text: 'alone' });
    await until('both are accepted', () => accepted.all.length === 2);
    expect(new Set(accepted.all.map(({ from }) => from.id))).toEqual(new Set([harness.server.ada.phone]));
  });

  it('a person whose phone number is not known keeps the id that they have then', async () => {
    const { server } = harness;
    await start();
    const eve = new FakePerson('491700000007', '900000000000007', 'Eve');
    server.says(eve, 'E1', { conversation: 'who am I' }, { address: { from: eve.lidJid } });
    expect(await accepted.message()).toMatchObject({ from: { id: `lid:${eve.lid}` }, place: placeOf(`lid:${eve.lid}`) });
    server.says(eve, 'E2', { conversation: 'now you know' }, { address: { from: eve.lidJid, sender_pn: eve.jid } });
    expect(await accepted.message(({ text }) => text === 'now you know')).toMatchObject({ from: { id: `lid:${eve.lid}` } });
  });

  it('a quote that names somebody gives them no id', async () => {
    const { server } = harness;
    await start();
    const eve = new FakePerson('491700000007', '900000000000007', 'Eve');
    const contextInfo = { stanzaId: 'X', participant: eve.lidJid, quotedMessage: { conversation: 'never said' } };
    server.says(server.ada, 'Q1', { extendedTextMessage: { text: 'see', contextInfo } });
    await accepted.message();
    server.says(eve, 'E1', { conversation: 'it is me' }, { address: { from: eve.lidJid, sender_pn: eve.jid } });
    expect(await accepted.message(({ text }) => text === 'it is me')).toMatchObject({ from: { id: eve.phone } });
  });

  it('what was sent a day ago is not taken', async () => {
    const { server } = harness;
    await start();
    const t = String(Math.floor(Date.now() / 1000) - 25 * 3600);
    server.says(server.ada, 'OLD', { conversation: 'from long ago' }, { address: { from: server.ada.jid, t } });
    await marked();
    expect(accepted.texts).toEqual(['the end']);
  });

  it('a reaction to a message of ours arrives with its emoji, and others do not', async () => {
    const channel = await start();
    const ours = await channel.send(harness.direct, { text: 'May I?' });
    harness.userPresses(harness.direct, 'A'.repeat(32), 'reaction:👎');
    harness.userPresses(harness.direct, ours, 'reaction:');
    harness.userPresses(harness.direct, ours, 'reaction:👍');
    const press = await until('the reaction is accepted', () => accepted.all.find((one) => one.kind === 'press'));
    expect(press).toMatchObject({ message: ours, data: 'reaction:👍', place: harness.direct, from: { id: harness.server.ada.phone } });
    await marked();
    expect(accepted.all.filter(({ kind }) => kind === 'press')).toHaveLength(1);
  });

  it('a bot ignores what its own account writes elsewhere', async () => {
    const { server } = harness;
    await start();
    server.says(server.phone, 'M1', { conversation: 'to myself' });
    server.says(server.phone, 'M2', { conversation: 'to Ada' }, { chat: server.ada.jid });
    await marked();
    expect(accepted.texts).toEqual(['the end']);
  });
});

describe('quotes', () => {
  const saysTea = async (): Promise<void> => {
    harness.server.says(harness.server.bob, 'B1', { conversation: 'I like tea' }, { chat: group });
    await accepted.message();
  };
  /** Ada replies, with words of a quote that she chooses. */
  const replies = async (context: Readonly<Record<string, string>>, chat?: string) => {
    const { server } = harness;
    const contextInfo = { ...context, quotedMessage: { conversation: 'never said' } };
    server.says(server.ada, `Q${accepted.all.length}`, { extendedTextMessage: { text: 'see', contextInfo } }, { chat });
    const count = accepted.all.length;
    const found = await until('the reply is accepted', () => accepted.all[count]);
    return found.kind === 'message' ? found : undefined;
  };

  it('a quote has the words and the author of the message that it names, and not those in the reply', async () => {
    const { server } = harness;
    await start();
    await saysTea();
    const tea = { from: 'Bob', text: 'I like tea' };
    expect((await replies({ stanzaId: 'B1', participant: server.bob.lidJid }, group))?.quoted).toEqual(tea);
    expect((await replies({ stanzaId: 'B1', participant: server.bob.jid }, group))?.quoted).toEqual(tea);
  });

  it('a quote of a message that is not known has no author', async () => {
    const { server } = harness;
    const channel = await start();
    await saysTea();
    const ours = await channel.send(harness.group, { text: 'our words' });
    const unknown = { from: '', text: 'never said' };
    expect((await replies({ stanzaId: 'B2', participant: server.bob.lidJid }, group))?.quoted).toEqual(unknown);
    expect((await replies({ stanzaId: 'B1', participant: server.ada.lidJid }, group))?.quoted).toEqual(unknown);
    expect((await replies({ stanzaId: 'B1' }, group))?.quoted).toEqual(unknown);
    expect(await replies({ stanzaId: 'X', participant: server.phone.lidJid }, group)).toMatchObject({ isAddressed: true, quoted: unknown });
    expect(await replies({ stanzaId: ours, participant: server.bob.lidJid }, group)).toMatchObject({ isAddressed: false, quoted: unknown });
    // A message of another chat.
    expect((await replies({ stanzaId: 'B1', participant: server.bob.lidJid }))?.quoted).toEqual(unknown);
    expect((await replies({ stanzaId: ours, participant: server.phone.lidJid }))?.quoted).toEqual(unknown);
  });

  it('a quote of a message of ours has our words as they read now', async () => {
    const channel = await start();
    const ours = await channel.send(harness.direct, { text: 'our first words' });
    const context = { stanzaId: ours, participant: harness.server.phone.jid };
    expect((await replies(context))?.quoted).toEqual({ from: 'Hermetic', text: 'our first words' });
    await channel.edit?.(harness.direct, ours, { text: 'our last words' });
    expect((await replies(context))?.quoted).toEqual({ from: 'Hermetic', text: 'our last words' });
  });

  it('a quote tells our words from those of the owner in their chat with themselves', async () => {
    const { server } = harness;
    const channel = await start({ mode: 'self' });
    server.says(server.phone, 'M1', { conversation: 'my words' });
    const { place } = await accepted.message();
    const ours = await channel.send(place, { text: 'our words' });
    for (const [number, stanzaId] of ['M1', ours].entries()) {
      const contextInfo = { stanzaId, participant: server.phone.jid, quotedMessage: { conversation: 'never said' } };
      server.says(server.phone, `Q${number}`, { extendedTextMessage: { text: `see ${number}`, contextInfo } });
    }
    const quoted = await Promise.all([0, 1].map((number) => accepted.message(({ text }) => text === `see ${number}`)));
    expect(quoted.map((one) => one.quoted)).toEqual([
      { from: server.phone.name, text: 'my words' },
      { from: 'Hermetic', text: 'our words' },
    ]);
  });
});

describe('in the chat of the owner with themselves', () => {
  it('what the owner writes there is taken as theirs, and nothing of anybody else', async () => {
    const { server } = harness;
    const channel = await start({ mode: 'self' });
    harness.userSays(harness.direct, { text: 'from Ada' });
    harness.userSays(harness.group, { text: 'in a group', mentionsUs: true });
    server.says(server.phone, 'M2', { conversation: 'to Ada' }, { chat: server.ada.jid });
    server.says(server.phone, 'M1', { conversation: 'to myself' });
    const message = await accepted.message();
    expect(message).toMatchObject({ text: 'to myself', isDirect: true, isAddressed: true, from: { id: server.phone.phone } });
    expect(accepted.all).toHaveLength(1);
    await channel.send(message.place, { text: 'an answer' });
    expect(harness.shown(message.place)).toMatchObject([{ text: 'an answer' }]);
  });

  it('our own answers that come back are known by their ids, also to the next program', async () => {
    const { server } = harness;
    const first = await start({ mode: 'self' });
    const place = placeOf(server.phone.phone);
    const id = await first.send(place, { text: 'an answer' });
    await first.stop();
    await start({ mode: 'self' });
    server.says(server.phone, id, { conversation: 'an answer' });
    server.says(server.phone, '3EB00123456789ABCDEF0123456789AB', { conversation: 'typed by the owner' });
    await accepted.message();
    expect(accepted.texts).toEqual(['typed by the owner']);
  });

  it('a reaction of the owner answers a message of ours', async () => {
    const { server } = harness;
    const channel = await start({ mode: 'self' });
    const ours = await channel.send(placeOf(server.phone.phone), { text: 'May I?' });
    const key = { remoteJid: server.phone.jid, fromMe: true, id: ours };
    server.says(server.phone, 'R1', { reactionMessage: { key, text: '👍' } });
    const press = await until('the reaction is accepted', () => accepted.all.find((one) => one.kind === 'press'));
    expect(press).toMatchObject({ message: ours, data: 'reaction:👍', from: { id: server.phone.phone } });
  });
});
