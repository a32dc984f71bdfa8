import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { Accepted, type ChannelRig } from './channel-harness.ts';

const never = () => new Promise<void>(() => undefined);

/** From now on whatever is offered stays open. Returns how much that was. */
function acceptNothing(accepted: Accepted): () => number {
  let offered = 0;
  accepted.hold = () => {
    offered += 1;
    return never();
  };
  return () => offered;
}

export function arrivingContract(rig: ChannelRig): void {
  it('delivers a direct message with its text, sender, place and time', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    const before = Date.now();
    const id = harness.userSays(harness.direct, { text: 'Hello there', name: 'Grace' });
    const message = await accepted.message();
    expect(message).toMatchObject({
      kind: 'message',
      id,
      place: harness.direct,
      text: 'Hello there',
      isDirect: true,
      isAddressed: true,
      files: [],
    });
    expect(message.from).toMatchObject({ id: expect.stringMatching(/./), name: expect.stringContaining('Grace') });
    expect(message.quoted).toBeUndefined();
    expect(Math.abs(message.at.getTime() - before)).toBeLessThan(3_600_000);
  });

  it('confirms no message before it is accepted', async (context) => {
    const { harness, accepted } = rig;
    if (harness.withoutRedelivery !== undefined) return context.skip(harness.withoutRedelivery);
    const { promise, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    accepted.hold = async () => {
      asked += 1;
      await promise;
    };
    await rig.start();
    harness.userSays(harness.direct, { text: 'keep me' });
    await until('it is offered', () => asked > 0);
    // Whatever else happens meanwhile must not confirm it by the way.
    accepted.hold = undefined;
    harness.userSays(harness.otherDirect, { text: 'from somebody else' });
    await accepted.message(({ text }) => text === 'from somebody else');
    expect(harness.unconfirmed()).toBeGreaterThan(0);
    resolve();
    await until('everything is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.texts.toSorted()).toEqual(['from somebody else', 'keep me']);
  });

  it('delivers an unaccepted message again under the same id after a restart', async (context) => {
    const { harness, accepted } = rig;
    if (harness.withoutRedelivery !== undefined) return context.skip(harness.withoutRedelivery);
    const offered = acceptNothing(accepted);
    await rig.start();
    const id = harness.userSays(harness.direct, { text: 'survive' });
    await until('it is offered', () => offered() > 0);
    await rig.channel.stop();
    const second = new Accepted();
    await rig.create().start(second.accept);
    expect(await second.message()).toMatchObject({ id, text: 'survive' });
    await until('it is confirmed', () => harness.unconfirmed() === 0);
  });

  it('delivers messages that were sent before the channel started', async () => {
    const { harness, accepted } = rig;
    harness.userSays(harness.direct, { text: 'one' });
    harness.userSays(harness.direct, { text: 'two' });
    await rig.start();
    await until('both are accepted', () => accepted.all.length === 2);
    expect(accepted.texts).toEqual(['one', 'two']);
  });

  it('does not deliver a confirmed message again', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    harness.userSays(harness.direct, { text: 'before' });
    await until('it is confirmed', () => accepted.texts.includes('before') && harness.unconfirmed() === 0);
    harness.userSays(harness.direct, { text: 'once' });
    await accepted.message(({ text }) => text === 'once');
    await rig.channel.stop();
    expect(harness.unconfirmed()).toBe(0);
    const second = new Accepted();
    await rig.create().start(second.accept);
    harness.userSays(harness.direct, { text: 'later' });
    await second.message();
    expect(second.texts).toEqual(['later']);
  });

  it('keeps the id of a message that the platform delivers twice', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    harness.userSays(harness.direct, { text: 'again' });
    await accepted.message();
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    harness.deliverAgain();
    const [first, second] = await until('it is accepted twice', () => (accepted.all.length === 2 ? accepted.all : undefined));
    expect(second?.id).toBe(first?.id);
    expect(second?.place).toEqual(first?.place);
  });

  it('gives different messages different ids', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    for (let number = 0; number < 10; number += 1) harness.userSays(harness.group, { text: `message ${number}`, mentionsUs: true });
    await until('all are accepted', () => accepted.all.length === 10);
    expect(new Set(accepted.all.map(({ id }) => id)).size).toBe(10);
  });

  it('keeps the order of a chat when accepting takes different times', async () => {
    const { harness, accepted } = rig;
    let count = 0;
    accepted.hold = async () => {
      count += 1;
      for (let turns = (count * 7) % 5; turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
    };
    await rig.start();
    const words = Array.from({ length: 40 }, (_, number) => `word ${number}`);
    for (const text of words) harness.userSays(harness.direct, { text });
    await until('all are accepted', () => accepted.all.length === words.length);
    expect(accepted.texts).toEqual(words);
  });

  it('delivers messages of one chat while another chat is stuck', async () => {
    const { harness, accepted } = rig;
    accepted.hold = ({ place }) => (place.chat === harness.direct.chat ? never() : Promise.resolve());
    await rig.start();
    harness.userSays(harness.direct, { text: 'stuck' });
    for (const text of ['one', 'two', 'three']) {
      harness.userSays(harness.otherDirect, { text });
      await accepted.message((message) => message.text === text);
    }
    expect(accepted.texts).toEqual(['one', 'two', 'three']);
  });

  it('retries a message that failed to be accepted before the messages after it', async () => {
    const { harness, accepted } = rig;
    let failures = 2;
    accepted.hold = async () => {
      failures -= 1;
      if (failures >= 0) throw new Error('the disk is full');
    };
    await rig.start();
    harness.userSays(harness.direct, { text: 'first' });
    harness.userSays(harness.direct, { text: 'second' });
    await until('both are accepted', () => accepted.all.length === 2);
    expect(accepted.texts).toEqual(['first', 'second']);
    await until('it is up', () => rig.channel.state.kind === 'up');
  });

  it('marks which messages in a group are addressed to the bot', async (context) => {
    const { harness, accepted } = rig;
    if (harness.hasGroups === false) return context.skip('the platform has no groups');
    await rig.start();
    harness.userSays(harness.group, { text: 'to everybody' });
    expect(await accepted.message()).toMatchObject({ isDirect: false, isAddressed: false, text: 'to everybody', place: harness.group });
    harness.userSays(harness.group, { text: 'to you', mentionsUs: true });
    expect(await accepted.message(({ text }) => text.includes('to you'))).toMatchObject({ isDirect: false, isAddressed: true });
    const ours = await rig.channel.send(harness.group, { text: 'our words' });
    harness.userSays(harness.group, { text: 'and then', repliesTo: ours });
    const reply = await accepted.message(({ text }) => text === 'and then');
    expect(reply).toMatchObject({ isAddressed: true, quoted: { text: 'our words' } });
  });

  it('quotes the message that a reply refers to', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    const first = harness.userSays(harness.group, { text: 'the sky is green', name: 'Grace' });
    harness.userSays(harness.group, { text: 'no', repliesTo: first });
    const reply = await accepted.message(({ text }) => text === 'no');
    const isAddressed = harness.hasGroups === false;
    expect(reply).toMatchObject({ isAddressed, quoted: { from: expect.stringContaining('Grace'), text: 'the sky is green' } });
  });

  it('keeps messages of different threads apart', async (context) => {
    const { harness, accepted } = rig;
    if (!harness.thread) return context.skip('the platform has no threads');
    await rig.start();
    harness.userSays(harness.thread, { text: 'in the thread', mentionsUs: true });
    expect((await accepted.message()).place).toEqual(harness.thread);
    await rig.channel.send(harness.thread, { text: 'answer' });
    expect(harness.shown(harness.thread)).toMatchObject([{ text: 'answer' }]);
  });

  it('ignores messages from other bots', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    harness.botSays(harness.group, 'I am a bot');
    harness.userSays(harness.group, { text: 'I am not' });
    await accepted.message();
    await until('everything is confirmed', () => harness.unconfirmed() === 0);
    expect(accepted.texts).toEqual(['I am not']);
  });

  it('fetches the bytes of a received file, and refuses a file over the limit', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    const data = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 256));
    harness.userSays(harness.direct, { text: 'look', file: { name: 'näme.bin', data } });
    const { files, text } = await accepted.message();
    expect(text).toBe('look');
    const [file] = files;
    if (!file) throw new Error('no file');
    expect(file.name).toBe('näme.bin');
    expect((await rig.channel.fetchFile(file, 5000)).equals(data)).toBe(true);
    await expect(rig.channel.fetchFile(file, 4999)).rejects.toMatchObject({ code: 'channel/refused' });
    await expect(rig.channel.fetchFile({ ...file, bytes: undefined }, 4999)).rejects.toMatchObject({ code: 'channel/refused' });
  });

  it('accepts no message after it was stopped, and can be started again', async () => {
    const { harness, accepted } = rig;
    await rig.start();
    expect(rig.channel.state.kind).toBe('up');
    await rig.channel.stop();
    expect(rig.channel.state.kind).toBe('stopped');
    harness.userSays(harness.direct, { text: 'too late' });
    const second = new Accepted();
    const other = rig.create();
    await other.start(second.accept);
    await second.message();
    expect(accepted.all).toEqual([]);
    await other.stop();
    await rig.start();
    harness.userSays(harness.direct, { text: 'in time' });
    expect(await accepted.message()).toMatchObject({ text: 'in time' });
  });

  it('stops while a message is stuck in acceptance', async () => {
    const { harness, accepted } = rig;
    const offered = acceptNothing(accepted);
    await rig.start();
    harness.userSays(harness.direct, { text: 'stuck' });
    harness.userSays(harness.direct, { text: 'behind it' });
    await until('it is offered', () => offered() > 0);
    await rig.channel.stop();
    expect(offered()).toBe(1);
    if (harness.withoutRedelivery === undefined) expect(harness.unconfirmed()).toBe(2);
  });

  it('stops without harm before it was started', async () => {
    await rig.channel.stop();
    expect(rig.channel.state.kind).toBe('stopped');
  });
}
