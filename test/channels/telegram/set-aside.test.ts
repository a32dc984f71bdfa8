import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HermeticError } from '../../../src/core/errors.ts';
import type { Deliveries, SetAside } from '../../../src/core/set-aside.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { ada, bob } from '../../fakes/bot-api.ts';
import { until } from '../../until.ts';
import { type TelegramHarness, telegramChannel, telegramHarness } from './harness.ts';

/** As a store keeps them, for as many channels as there are programs. */
class Kept implements Deliveries {
  readonly aside: Omit<SetAside, 'at' | 'source' | 'session'>[] = [];
  readonly tries = new Map<string, number>();

  async trying(ids: readonly string[], open: readonly string[]): Promise<ReadonlyMap<string, number | undefined>> {
    for (const id of this.tries.keys()) if (![...ids, ...open].includes(id)) this.tries.delete(id);
    const before = new Map(ids.map((id) => [id, this.aside.some((one) => one.id === id) ? undefined : (this.tries.get(id) ?? 0)]));
    for (const id of ids) this.tries.set(id, (this.tries.get(id) ?? 0) + 1);
    return before;
  }

  async setAside(delivery: Kept['aside'][number]): Promise<void> {
    this.aside.push(delivery);
  }
}

let harness: TelegramHarness;
let kept: Kept;
let accepted: Accepted;
const channels: ReturnType<typeof telegramChannel>[] = [];

const create = () => {
  const channel = telegramChannel(harness.api, () => undefined, harness.api.token, [], kept);
  channels.push(channel);
  return channel;
};
beforeEach(async () => {
  harness = await telegramHarness();
  kept = new Kept();
  accepted = new Accepted();
});
afterEach(async () => {
  await Promise.all(channels.splice(0).map((channel) => channel.stop()));
  await harness.close();
});

const said = (text: unknown, more: object = {}) => ({
  message: { message_id: 900, date: 1, chat: { id: ada.id, type: 'private', first_name: 'Ada' }, from: ada, text, ...more },
});

describe('unreadable updates', () => {
  const malformed: Record<string, object> = {
    'without a chat': said('x', { chat: undefined }),
    'with a chat that is a word': said('x', { chat: 'somewhere' }),
    'with a text that is none': said({ not: 'text' }),
    'without a date': said('x', { date: 'today' }),
    'with entities that are none': said('x', { entities: [null] }),
    'of a press in no chat': { callback_query: { id: '1', from: ada, data: 'x', message: { message_id: 1 } } },
    'of a press by a person without a number': {
      callback_query: {
        id: '1',
        from: { is_bot: false, first_name: 'A' },
        data: 'x',
        message: { message_id: 1, date: 1, chat: { id: ada.id } },
      },
    },
  };

  it.each(Object.entries(malformed))('sets an unreadable update aside and accepts the messages after it: %s', async (_, update) => {
    await create().start(accepted.accept);
    const id = harness.api.push(update as never);
    harness.api.world.says({ text: 'after it', from: ada });
    harness.api.world.says({ text: 'elsewhere', from: bob });
    await until('the others arrive', () => accepted.all.length === 2);
    await until('everything is confirmed', () => harness.unconfirmed() === 0);
    expect(kept.aside).toMatchObject([{ id: String(id), tries: 5, content: expect.stringContaining('"update_id"') }]);
    expect(kept.aside[0]?.reason).toMatch(/^It cannot be read: /);
    await until('it is up', () => channels[0]?.state.kind === 'up');
  });

  it('does not try an update again after a restart once it was set aside', async () => {
    await create().start(accepted.accept);
    const id = harness.api.push(said({}) as never);
    await until('it is set aside', () => kept.aside.length === 1);
    await channels[0]?.stop();
    harness.api.deliverAgain(id);
    await create().start(accepted.accept);
    await until('it is confirmed', () => harness.unconfirmed() === 0);
    expect(kept.aside).toHaveLength(1);
    expect(accepted.all).toEqual([]);
  });

  it('sets an update aside unread after it ended the program too often', async () => {
    const id = harness.api.push(said('the end') as never);
    kept.tries.set(String(id), 10);
    await create().start(accepted.accept);
    await until('it is set aside', () => kept.aside.length === 1);
    expect(accepted.all).toEqual([]);
  });
});

describe('messages that the gateway cannot accept', () => {
  const startFailing = async (error: Error, times: number) => {
    let left = times;
    await create().start(async (incoming) => {
      if (incoming.kind === 'message' && incoming.text === 'poison' && left-- > 0) throw error;
      await accepted.accept(incoming);
    });
  };
  /** As if so many programs had tried it. */
  const poison = (tries: number) => kept.tries.set(String(harness.api.push(said('poison') as never)), tries);

  it('sets a message aside after five failed tries and accepts the next one', async () => {
    poison(3);
    harness.api.world.says({ text: 'after it' });
    await startFailing(new TypeError('no such thing'), Number.POSITIVE_INFINITY);
    await accepted.message(({ text }) => text === 'after it');
    expect(kept.aside).toMatchObject([{ tries: 5, reason: 'no such thing' }]);
    expect(accepted.texts).toEqual(['after it']);
  });

  it('tries a message again until there is storage for it', async () => {
    poison(4);
    await startFailing(new HermeticError('store/failed', 'no space'), 2);
    await accepted.message(({ text }) => text === 'poison');
    expect(kept.aside).toEqual([]);
  });
});
