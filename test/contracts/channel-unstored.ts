import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HermeticError } from '../../src/core/errors.ts';
import { until } from '../until.ts';
import type { Accepted, ChannelRig } from './channel-harness.ts';

const count = 10_000;

/** From now on nothing can be stored, until the result is called. Returns also how often it was tried. */
export function failStorage(accepted: Accepted): { tried(): number; works(): void } {
  let tried = 0;
  accepted.hold = async () => {
    tried += 1;
    throw new HermeticError('store/failed', 'The database cannot be written.');
  };
  return {
    tried: () => tried,
    works: () => {
      accepted.hold = undefined;
    },
  };
}

/** The texts in the order in which they first came. The gateway takes a message once that comes twice under one id. */
export function textsOnce({ messages }: Accepted): string[] {
  const byId = new Map(messages.toReversed().map(({ id, text }) => [id, text]));
  const first = new Set(messages.map(({ id }) => id));
  return [...first].map((id) => byId.get(id) ?? '');
}

export function unstoredContract(rig: ChannelRig): void {
  it('delivers 10,000 messages that come while nothing can be stored, each once and in order', async (context) => {
    const { harness, accepted } = rig;
    if (harness.withoutOrder !== undefined) return context.skip(harness.withoutOrder);
    await rig.start();
    const storage = failStorage(accepted);
    const texts = Array.from({ length: count }, (_, number) => `message ${number}`);
    for (const [number, text] of texts.entries()) {
      harness.userSays(harness.direct, { text });
      if (number % 100 === 0) await turn();
    }
    await until('storing was tried', () => storage.tried() > 0);
    await until('it is down', () => rig.channel.state.kind === 'down');
    storage.works();
    await until('all are accepted', () => new Set(accepted.messages.map(({ id }) => id)).size === count, { withinMs: 150_000 });
    expect(textsOnce(accepted)).toEqual(texts);
    await until('it is up', () => rig.channel.state.kind === 'up');
  });
}
