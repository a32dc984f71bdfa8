import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { openStore } from '../../src/stores/index.ts';
import { says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';
import { Rig } from './rig.ts';

const bin = fileURLToPath(new URL('../../bin/hermetic.mjs', import.meta.url));

describe('failing messages', () => {
  let rig: Rig;
  afterEach(() => rig.close());

  it('tries a failing message and press a few times, reports them and sets them aside, and handles the next ones', async () => {
    rig = await Rig.start({ environment: { TERMINAL_ENV: 'local' } });
    const tried = { press: 0, message: 0 };
    rig.deps.approvals.answer = async () => {
      tried.press += 1;
      throw new TypeError('a press that fails');
    };
    const { outbox } = rig;
    const deliver = outbox.deliver.bind(outbox);
    outbox.deliver = async (place, key, text, ...more) => {
      if (text.includes('nosuch')) {
        tried.message += 1;
        throw new TypeError('a message that fails');
      }
      return await deliver(place, key, text, ...more);
    };
    await rig.press('Once', { data: 'q:ABCDEF:o' });
    await rig.say('/nosuch');
    await rig.say('hello');
    await rig.shows('Fine.');
    await rig.say('hello', { from: 'bob' });
    await rig.shows('Fine.', 'bob');
    await rig.shows('I could not process this message');
    await rig.quiet();
    const aside = await rig.store.setAside.list();
    expect(aside.map(({ source, tries, reason }) => [source, tries, reason]).toSorted()).toEqual([
      ['inbox', 5, 'a message that fails'],
      ['inbox', 5, 'a press that fails'],
    ]);
    expect(tried).toEqual({ press: 5, message: 5 });
    await rig.stopGateway();
    await rig.startGateway();
    await rig.say('still there?');
    await until('it is answered', () => rig.texts().filter((text) => text === 'Fine.').length === 2);
    await rig.quiet();
    expect(await rig.store.setAside.list()).toHaveLength(2);
  });
});

describe('messages that end the gateway', () => {
  let program: Program;
  let store: Store | undefined;
  afterEach(async () => {
    await store?.close();
    store = undefined;
    await program.close();
  });

  const doctor = async (): Promise<{ setAside: { source: string; id: string; reason: string }[] }> => {
    const env = { PATH: process.env.PATH ?? '', HOME: program.home, HERMETIC_HOME: program.directory };
    const run = promisify(execFile)(process.execPath, [bin, 'doctor', '--json'], { env, cwd: program.home });
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    return JSON.parse(stdout);
  };

  it('sets aside a message that ends the gateway each time, and an unreadable one, and answers people again', async () => {
    const preload = fileURLToPath(new URL('ends-at-poison.mjs', import.meta.url));
    program = await Program.start({
      backend: 'local',
      preload,
      script: ({ last }) => says(`Answer to ${/number \d/.exec(last.text)?.[0]}`),
    });
    const bob = { id: 1002, is_bot: false as const, first_name: 'Bob' };
    program.api.world.says({ text: 'number 1', from: bob });
    await program.shows('Answer to number 1', 1002);
    program.api.world.says({ text: 'poison' });
    await program.ended();
    const database = new DatabaseSync(join(program.directory, 'state.db'));
    database.exec(
      `insert into inbox (seq, identity, session, incoming, state, received_at) values (99, 'x', '["s"]', '{"broken', 'waiting', 0)`,
    );
    // As if more programs had ended with it.
    database.exec(`update inbox set tries = 7 where tries > 0`);
    database.close();
    program.api.world.says({ text: 'number 2', from: bob });
    program.api.world.says({ text: 'number 3' });
    let starts = 0;
    const goesOn = async (): Promise<boolean> => {
      starts += 1;
      // It may end before it listens.
      const hasStarted = await program.start().then(
        () => true,
        () => false,
      );
      const isOver = program.ended().then(() => false);
      return hasStarted && (await Promise.race([isOver, program.shows('Answer to number 3').then(() => true)]));
    };
    await until('it goes on', goesOn, { withinMs: 150_000 });
    await program.shows('Answer to number 2', 1002);
    await program.shows('I could not process this message');
    expect(starts).toBeLessThanOrEqual(6);
    expect((await doctor()).setAside).toMatchObject([
      { source: 'inbox', id: '99', reason: expect.stringContaining('It cannot be read') },
      { source: 'inbox', tries: 10 },
    ]);
    store = await openStore(join(program.directory, 'state.db'));
    expect(await store.audit.list({ kind: 'message' }, 10)).toMatchObject([
      { outcome: 'set aside', what: { id: '99' } },
      { outcome: 'set aside' },
    ]);
    await program.restart();
    program.api.world.says({ text: 'number 4' });
    await program.shows('Answer to number 4');
    expect(await store.setAside.list()).toHaveLength(2);
  });
});
