import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { failStorage, textsOnce } from '../../contracts/channel-unstored.ts';
import { collectGarbage } from '../../garbage.ts';
import { until } from '../../until.ts';
import { listeningRig } from './listening-rig.ts';

const rig = listeningRig();
const count = 3_000;
/** One for all messages at the server, and one for each in a program that keeps them. */
const metadata = { event_payload: 'x'.repeat(40_000) };
const texts = Array.from({ length: count }, (_, number) => `message ${number}`);

/** Resolves when the program has seen everything. */
async function sayAll(where: (number: number) => { channel: string; thread?: string }): Promise<void> {
  const { sockets, world } = rig.harness.slack;
  for (const [number, text] of texts.entries()) {
    world.says({ ...where(number), text, more: { metadata } });
    if (number % 20 === 0) await turn();
  }
  const last = sockets.deliver('nothing that it knows', {}) ?? '';
  await until('it has seen all', () => sockets.answers.has(last));
}

const heldBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

describe('messages of Slack while the database cannot be written', () => {
  it('holds a bounded number in memory, acknowledges none, and reads the others when there is room', async () => {
    await rig.start();
    const { sockets } = rig.harness.slack;
    const storage = failStorage(rig.accepted);
    const answered = sockets.answers.size;
    const before = heldBytes();
    await sayAll(() => ({ channel: rig.harness.direct.chat }));
    expect(rig.harness.log.filter((line) => line.includes('wait to be stored'))).toHaveLength(1);
    sockets.delivered.length = 0;
    expect(heldBytes() - before).toBeLessThan(80e6);
    expect(sockets.answers.size).toBe(answered + 1);
    storage.works();
    await until('all are accepted', () => new Set(rig.accepted.texts).size === count);
    expect(textsOnce(rig.accepted)).toEqual(texts);
  });

  it('reads what was refused in a conversation and a thread that it never heard of before', async () => {
    await rig.start();
    const { world } = rig.harness.slack;
    world.channel('DNEW1');
    const root = world.makes({ channel: 'DNEW1', text: 'long ago' });
    const storage = failStorage(rig.accepted);
    await sayAll((number) => (number < 1_500 ? { channel: rig.harness.direct.chat } : { channel: 'DNEW1', thread: root.ts }));
    storage.works();
    await until('all are accepted', () => new Set(rig.accepted.texts.filter((text) => text.startsWith('message'))).size === count);
    const said = textsOnce(rig.accepted).filter((text) => text.startsWith('message'));
    const inThread = new Set(texts.slice(1_500));
    expect(said.filter((text) => inThread.has(text))).toEqual(texts.slice(1_500));
    expect(said.filter((text) => !inThread.has(text))).toEqual(texts.slice(0, 1_500));
  });

  it('does not acknowledge a press or a command that it does not take', async () => {
    await rig.start();
    const message = await rig.channel.send(rig.harness.direct, { text: 'Really?', buttons: [[{ label: 'Yes', data: 'yes' }]] });
    const { sockets, world } = rig.harness.slack;
    const storage = failStorage(rig.accepted);
    await sayAll(() => ({ channel: rig.harness.direct.chat }));
    rig.harness.userPresses(rig.harness.direct, message, 'yes');
    const press = sockets.delivered.at(-1)?.id ?? '';
    const command = world.commands(rig.harness.direct.chat, 'status') ?? '';
    const last = sockets.deliver('nothing that it knows', {}) ?? '';
    await until('it has seen both', () => sockets.answers.has(last));
    expect([press, command].map((id) => sockets.answers.has(id))).toEqual([false, false]);
    storage.works();
    await until('all are accepted', () => new Set(rig.accepted.texts).size === count);
    expect(rig.accepted.all.filter(({ kind }) => kind === 'press')).toEqual([]);
  });
});
