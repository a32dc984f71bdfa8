import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import type { Deliveries, SetAside } from '../../../src/core/set-aside.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { ada, bob, envelopeOf, type FakePerson, team, us } from '../../fakes/signal/world.ts';
import { until } from '../../until.ts';
import { placeOf, type SignalHarness, signalHarness } from './harness.ts';

/** As a store keeps them. */
class Kept implements Deliveries {
  readonly aside: Pick<SetAside, 'id' | 'reason' | 'content' | 'tries'>[] = [];

  async trying(ids: readonly string[]): Promise<ReadonlyMap<string, number | undefined>> {
    return new Map(ids.map((id) => [id, 0]));
  }

  async setAside(delivery: Kept['aside'][number]): Promise<void> {
    this.aside.push(delivery);
  }
}

let harness: SignalHarness;
let channel: Channel;
let accepted: Accepted;
const others: Channel[] = [];

beforeEach(async () => {
  harness = await signalHarness();
  channel = harness.create();
  accepted = new Accepted();
});
afterEach(async () => {
  await Promise.all([channel, ...others.splice(0)].map((one) => one.stop()));
  await harness.close();
});

function withOptions(options: Record<string, unknown>, deliveries?: Deliveries): Channel {
  const another = harness.channelWith(options, deliveries);
  others.push(another);
  return another;
}

async function downReason(of = channel): Promise<string> {
  return await until('it is down', () => (of.state.kind === 'down' ? of.state.reason : undefined));
}

describe('trouble while listening', () => {
  it('logs nothing when a connection ends once', async () => {
    await channel.start(accepted.accept);
    harness.daemon.cutAll();
    harness.daemon.world.says({ text: 'after it' });
    await accepted.message();
    expect(channel.state.kind).toBe('up');
    expect(harness.log).toEqual([]);
  });

  it.each([
    ['events refused by a proxy', 'events', { status: 502 }],
    ['events of an account that is unknown', 'events', { status: 400 }],
    ['methods refused by a proxy', 'listAccounts', { status: 503 }],
    ['methods that fail', 'listAccounts', { error: { code: -32_603, message: 'An internal server error has occurred.' } }],
    ['a connection that is cut', 'listAccounts', { cut: 'before' }],
  ] as const)('says that it is down, and recovers: %s', async (_, name, failure) => {
    await channel.start(accepted.accept);
    for (let count = 0; count < 2; count += 1) harness.daemon.fail(name, failure);
    harness.daemon.cutAll();
    expect(await downReason()).toMatch(/^Signal: \w/);
    harness.daemon.world.says({ text: 'through it all' });
    expect(await accepted.message()).toMatchObject({ text: 'through it all' });
    await until('it is up', () => channel.state.kind === 'up');
    expect(accepted.all).toHaveLength(1);
  });

  it('reports an account that was removed until it is there again', async () => {
    await channel.start(accepted.accept);
    harness.daemon.accounts.all = [];
    harness.daemon.cutAll();
    expect(await downReason()).toContain('no such account');
    harness.daemon.accounts.all = [us.number ?? ''];
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('reports itself as down while it cannot store messages', async () => {
    let isBroken = true;
    accepted.hold = async () => {
      if (isBroken) throw new Error('no space left');
    };
    await channel.start(accepted.accept);
    harness.daemon.world.says({ text: 'keep' });
    expect(await downReason()).toContain('no space left');
    expect(harness.unconfirmed()).toBe(1);
    isBroken = false;
    expect(await accepted.message()).toMatchObject({ text: 'keep' });
    await until('it is up', () => channel.state.kind === 'up');
  });

  it('refuses to start without an account, and says what to do', async () => {
    const nobody = withOptions({ account: undefined });
    await expect(nobody.start(accepted.accept)).rejects.toMatchObject({
      code: 'channel/unusable',
      hint: expect.stringContaining('signal.account'),
    });
  });

  it('leaves no connection behind when it is stopped', async () => {
    await channel.start(accepted.accept);
    expect(harness.daemon.listeners).toBe(1);
    await channel.stop();
    await until('the daemon has no listener', () => harness.daemon.listeners === 0);
  });
});

describe('versions of the daemon', () => {
  it('is up and listens with a daemon that answers with its first event', async () => {
    harness.daemon.isOld = true;
    await channel.start(accepted.accept);
    expect(channel.state.kind).toBe('up');
    harness.daemon.world.says({ text: 'hello' });
    expect(await accepted.message()).toMatchObject({ text: 'hello' });
  });

  it('listens to a daemon that was started for one account', async () => {
    harness.daemon.accounts.isSingle = true;
    await channel.start(accepted.accept);
    harness.daemon.world.says({ text: 'hello' });
    expect(await accepted.message()).toMatchObject({ text: 'hello' });
  });

  it('takes nothing that is for another account, and says so when the daemon has no other', async () => {
    harness.daemon.accounts.isSingle = true;
    await channel.start(accepted.accept);
    harness.daemon.deliverRaw(
      JSON.stringify({ envelope: { ...envelopeOf(ada, 5), dataMessage: { timestamp: 5, message: 'x' } }, account: '+15550000009' }),
    );
    expect(await downReason()).toContain('another account');
    harness.daemon.world.says({ text: 'for us' });
    await accepted.message();
    expect(accepted.texts).toEqual(['for us']);
  });
});

describe('what is delivered again', () => {
  it('asks for nothing the first time, and later for what comes after the last event', async () => {
    await channel.start(accepted.accept);
    harness.daemon.world.says({ text: 'one' });
    await accepted.message();
    await channel.stop();
    await channel.start(accepted.accept);
    expect(harness.daemon.resumed).toEqual([undefined, '1-1']);
  });

  it('does not accept twice what is still being accepted when the connection ends', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let offered = 0;
    accepted.hold = async () => {
      offered += 1;
      await promise;
    };
    await channel.start(accepted.accept);
    harness.daemon.world.says({ text: 'slow' });
    await until('it is offered', () => offered === 1);
    harness.daemon.cutAll();
    await until('it listens again', () => harness.daemon.resumed.length === 2 && harness.daemon.listeners === 1);
    resolve();
    harness.daemon.world.says({ text: 'next' });
    await until('both are accepted', () => accepted.all.length === 2);
    expect(accepted.texts).toEqual(['slow', 'next']);
  });

  it('loses nothing that waits at Signal while the daemon is restarted', async () => {
    await channel.start(accepted.accept);
    harness.daemon.world.says({ text: 'one' });
    await accepted.message();
    await harness.daemon.goDown();
    harness.daemon.world.says({ text: 'two' });
    await harness.daemon.comeUp();
    await harness.daemon.restart();
    await until('both are accepted', () => accepted.all.length >= 2);
    expect(new Set(accepted.texts)).toEqual(new Set(['one', 'two']));
  });

  it('keeps the mark behind a message of one chat that is stuck, while others go on', async () => {
    accepted.hold = ({ place }) => (place.chat === ada.uuid ? new Promise(() => undefined) : Promise.resolve());
    await channel.start(accepted.accept);
    harness.daemon.world.says({ text: 'stuck' });
    for (let number = 0; number < 50; number += 1) harness.daemon.world.says({ text: `word ${number}`, from: bob });
    await until('the others are accepted', () => accepted.all.length === 50);
    expect(harness.unconfirmed()).toBe(51);
  });
});

describe('unreadable events', () => {
  const malformed: Record<string, string> = {
    'that is no JSON': '{"envelope":',
    'with a message that is a list': JSON.stringify({ envelope: { ...envelopeOf(ada, 5), dataMessage: [1] } }),
    'with a text that is none': JSON.stringify({ envelope: { ...envelopeOf(ada, 5), dataMessage: { timestamp: 5, message: { a: 1 } } } }),
    'without a sender': JSON.stringify({
      envelope: { ...envelopeOf(ada, 5), sourceUuid: null, dataMessage: { timestamp: 5, message: 'x' } },
    }),
    'with a time that is none': JSON.stringify({ envelope: { ...envelopeOf(ada, 5), dataMessage: { timestamp: 'now', message: 'x' } } }),
    'that is too large': JSON.stringify({
      envelope: { ...envelopeOf(ada, 5), dataMessage: { timestamp: 5, message: 'x'.repeat(5_000_000) } },
    }),
  };

  it.each(Object.entries(malformed))('sets an event aside %s, and goes on', async (_, raw) => {
    const kept = new Kept();
    const another = withOptions({}, kept);
    await another.start(accepted.accept);
    harness.daemon.deliverRaw(raw);
    harness.daemon.world.says({ text: 'after it' });
    expect(await accepted.message()).toMatchObject({ text: 'after it' });
    await until('it is set aside', () => kept.aside.length === 1);
    expect(kept.aside[0]?.reason).toMatch(/cannot be read/);
    await until('it is not delivered again', () => harness.unconfirmed() === 0);
    expect(another.state.kind).toBe('up');
  });

  it('skips events that nobody said', async () => {
    await channel.start(accepted.accept);
    for (const raw of ['{}', 'null', '{"exception":{"message":"x"}}', '{"envelope":{"receiptMessage":{}}}']) harness.daemon.deliverRaw(raw);
    await until('none is delivered again', () => harness.unconfirmed() === 0);
    expect(accepted.all).toEqual([]);
  });
});

describe('quotes', () => {
  /** Ada replies, with words of a quote that she chooses. */
  const replies = async (author: FakePerson, timestamp: number, inGroup = true) => {
    const count = accepted.all.length;
    const quote = { author, timestamp, text: 'never said' };
    harness.daemon.world.says({ text: 'see', quote, ...(inGroup && { group: team }) });
    const found = await until('the reply is accepted', () => accepted.all[count]);
    return found.kind === 'message' ? found : undefined;
  };

  it('a quote has the words and the author of the message that it names, and not those in the reply', async () => {
    await channel.start(accepted.accept);
    const tea = harness.daemon.world.says({ from: bob, text: 'I like tea', group: team });
    await accepted.message();
    expect((await replies(bob, tea))?.quoted).toEqual({ from: 'Bob', text: 'I like tea' });
  });

  it('a quote of a message that is not known has no author', async () => {
    await channel.start(accepted.accept);
    const tea = harness.daemon.world.says({ from: bob, text: 'I like tea', group: team });
    await accepted.message();
    const ours = Number(await channel.send(harness.group, { text: 'our words' }));
    const unknown = { from: '', text: 'never said' };
    expect((await replies(bob, tea + 1))?.quoted).toEqual(unknown);
    expect((await replies(ada, tea))?.quoted).toEqual(unknown);
    expect(await replies(us, tea)).toMatchObject({ isAddressed: true, quoted: unknown });
    expect((await replies(bob, ours))?.quoted).toEqual(unknown);
    // A message of another chat.
    expect((await replies(bob, tea, false))?.quoted).toEqual(unknown);
    expect((await replies(us, ours, false))?.quoted).toEqual(unknown);
  });

  it('a quote of a message of ours has our words as they read now', async () => {
    await channel.start(accepted.accept);
    const ours = await channel.send(harness.direct, { text: 'our first words' });
    expect((await replies(us, Number(ours), false))?.quoted).toEqual({ from: 'Hermetic', text: 'our first words' });
    await channel.edit?.(harness.direct, ours, { text: 'our last words' });
    const edited = harness.daemon.world.sent.at(-1)?.timestamps.at(-1) ?? 0;
    expect(edited).not.toBe(Number(ours));
    for (const timestamp of [Number(ours), edited])
      expect((await replies(us, timestamp, false))?.quoted).toEqual({ from: 'Hermetic', text: 'our last words' });
  });

  it('a quote tells our words from those of the owner in Note to Self', async () => {
    const { world } = harness.daemon;
    const notes = withOptions({ note_to_self: true });
    await notes.start(accepted.accept);
    const mine = world.weSay({ to: us, text: 'my words' });
    const { place } = await accepted.message();
    const ours = Number(await notes.send(place, { text: 'our words' }));
    for (const timestamp of [mine, ours])
      world.weSay({ to: us, text: `see ${timestamp}`, quote: { author: us, timestamp, text: 'never said' } });
    const quoted = await Promise.all([mine, ours].map((time) => accepted.message(({ text }) => text === `see ${time}`)));
    expect(quoted.map((one) => one.quoted)).toEqual([
      { from: us.name, text: 'my words' },
      { from: 'Hermetic', text: 'our words' },
    ]);
  });
});

describe('Note to Self', () => {
  const self = placeOf(us.uuid);

  it('answers a note once, although what we send comes back', async () => {
    harness.daemon.world.echoes = true;
    const notes = withOptions({ note_to_self: true });
    accepted.hold = async (incoming) => {
      if (incoming.kind === 'message') void notes.send(incoming.place, { text: `answer to ${incoming.text}` });
    };
    await notes.start(accepted.accept);
    harness.daemon.world.weSay({ to: us, text: 'one' });
    await until('it is answered', () => harness.shown(self).length === 1);
    harness.daemon.world.weSay({ to: us, text: 'two' });
    await until('both are answered', () => harness.shown(self).length >= 2);
    await until('all events are through', () => harness.unconfirmed() === 0);
    expect(accepted.texts).toEqual(['one', 'two']);
    expect(harness.shown(self).map(({ text }) => text)).toEqual(['answer to one', 'answer to two']);
  });

  it('is not listened to unless that is wished, and then nobody else is', async () => {
    await channel.start(accepted.accept);
    harness.daemon.world.weSay({ to: us, text: 'a note' });
    harness.daemon.world.says({ text: 'from Ada' });
    await accepted.message();
    expect(accepted.texts).toEqual(['from Ada']);
    await channel.stop();
    const notes = withOptions({ note_to_self: true });
    const second = new Accepted();
    await notes.start(second.accept);
    harness.daemon.world.says({ text: 'from Ada again' });
    harness.daemon.world.says({ text: 'in the team', group: team });
    harness.daemon.world.weSay({ to: us, text: 'a second note' });
    await second.message();
    expect(second.texts).toEqual(['a second note']);
  });
});

describe('over a socket', () => {
  it('keeps what arrives while a message is sent before it listens', async () => {
    await harness.close();
    harness = await signalHarness({ over: 'socket' });
    const another = withOptions({});
    harness.daemon.world.says({ text: 'early' });
    await another.send(placeOf(ada.uuid), { text: 'hello' });
    await another.start(accepted.accept);
    expect(await accepted.message()).toMatchObject({ text: 'early' });
  });

  it('cuts a connection on which nonsense arrives, and comes back', async () => {
    await harness.close();
    harness = await signalHarness({ over: 'socket' });
    const another = withOptions({});
    await another.start(accepted.accept);
    harness.daemon.deliverRaw('}{');
    harness.daemon.world.says({ text: 'after it' });
    await until('it listens again', () => harness.daemon.listeners === 1);
    harness.daemon.world.says({ text: 'later' });
    await accepted.message(({ text }) => text === 'later');
  });
});
