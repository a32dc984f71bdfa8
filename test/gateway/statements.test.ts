import { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Rig } from './rig.ts';

const maxStatements = 30;

let rig: Rig | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  await rig?.close();
});

/** The statements of every connection from now on, in order, also those that begin and end transactions. */
function statements(): string[] {
  const texts: string[] = [];
  for (const name of ['run', 'get', 'all', 'iterate'] as const) {
    const original = StatementSync.prototype[name] as (...values: unknown[]) => unknown;
    vi.spyOn(StatementSync.prototype, name).mockImplementation(function (this: StatementSync, ...values: unknown[]) {
      texts.push(this.sourceSQL);
      return original.apply(this, values) as never;
    });
  }
  const exec = DatabaseSync.prototype.exec;
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, text) {
    texts.push(text);
    exec.call(this, text);
  });
  return texts;
}

it(`answers a message without tools in at most ${maxStatements} statements of the store`, async () => {
  rig = await Rig.start({
    rules: { allowAll: true },
    environment: { TERMINAL_ENV: 'local' },
    script: ({ index }) => says(`Answer ${index}.`),
  });
  // In a chat that is known, as most are.
  await rig.say('The first one.', { from: 'zoe' });
  await rig.shows('Answer 0.', 'zoe');
  await rig.quiet();
  const texts = statements();
  await rig.say('The second one.', { from: 'zoe' });
  await rig.shows('Answer 1.', 'zoe');
  let counted = 0;
  await until('no statement follows', async () => {
    counted = texts.length;
    await delay(300);
    return texts.length === counted && rig?.gateway.busy === 0;
  });
  vi.restoreAllMocks();
  const updating = (column: string) => texts.findIndex((text) => text.startsWith('update "outbox"') && text.includes(`"${column}" = `));
  const [taken, sent] = [updating('attempts'), updating('sent_id')];
  const isLook = (text: string, index: number) => text === 'select * from "outbox" where "identity" = ?' && index > taken && index < sent;
  // The outbox looks for messages of other processes every few seconds, whether a message comes or not. The turn looks
  // again and again while its answer is on its way.
  const ofMessage = texts.filter((text, index) => !text.includes('min("seq")') && !isLook(text, index));
  expect(ofMessage.filter((text) => text.startsWith('insert into transcript'))).toHaveLength(2);
  expect(ofMessage.length, ofMessage.join('\n')).toBeLessThanOrEqual(maxStatements);
});
