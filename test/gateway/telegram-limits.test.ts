import { expect, it } from 'vitest';
import { BotLimits } from '../fakes/bot-limits.ts';
import type { ModelRequest, Reply } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';

const people = Array.from({ length: 60 }, (_, index) => 2000 + index);
const group = -1001;
const end = 'and this is the end.';

/** Begins to answer, goes on as long as nothing else is said, and comes to an end. */
function answers(goesOn: Promise<void>, ends: Promise<void>): (request: ModelRequest) => Reply {
  return () => ({ pieces: [{ text: 'It began, ' }, { until: goesOn }, { text: 'it went on, ' }, { until: ends }, { text: end }] });
}

it('streams to many people at once within the limits of Telegram, last texts first', async () => {
  const goesOn = Promise.withResolvers<void>();
  const ends = Promise.withResolvers<void>();
  const config = { telegram: { allow_all: true, require_mention: false } };
  const program = await Program.start({ backend: 'local', script: answers(goesOn.promise, ends.promise), config });
  try {
    const { api } = program;
    const whole = `It began, it went on, ${end}`;
    for (const id of people) api.world.says({ from: { id, is_bot: false, first_name: `Person ${id}` }, text: 'Hello.' });
    await until('all have seen the beginning', () => people.every((id) => program.texts(id).length === 1));
    goesOn.resolve();
    const callsBefore = api.calls.length;
    ends.resolve();
    await until('all have the whole text', () => people.every((id) => program.texts(id)[0] === whole), { withinMs: 60_000 });
    expect(people.map((id) => program.texts(id))).toEqual(people.map(() => [whole]));
    const said = api.calls.slice(callsBefore).filter(({ method }) => method.startsWith('edit') || method === 'sendmessage');
    const firstEnd = said.findIndex(({ parameters }) => String(parameters.text).includes(end));
    // No half text is shown from the first last text on.
    expect(said.slice(firstEnd).every(({ parameters }) => String(parameters.text).includes(end))).toBe(true);
    const counted = api.calls.filter(({ method }) => /^(send|edit|answer)/.test(method));
    const seconds = ((counted.at(-1)?.at ?? 0) - (counted[0]?.at ?? 0)) / 1000;
    // Over all of it: on a busy machine some of them arrive together.
    expect(counted.length).toBeLessThanOrEqual(30 * (seconds + 1));
  } finally {
    await program.close();
  }
});

it('says many things to a group within its limit, and all of them', async () => {
  const config = { telegram: { allow_all: true, require_mention: false } };
  const program = await Program.start({ backend: 'local', config });
  try {
    const { api } = program;
    api.limits = new BotLimits();
    const count = 7;
    for (let number = 1; number <= count; number++) api.world.says({ chat: group, text: '/help' });
    await until('all are answered', () => program.texts(group).length === count, { withinMs: 60_000 });
    expect(api.refused).toEqual([]);
  } finally {
    await program.close();
  }
});
