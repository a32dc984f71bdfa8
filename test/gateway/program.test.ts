import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

describeContained('the gateway', async () => {
  const environment = { PATH: process.env.PATH ?? '' };
  const program = await Program.start({ environment, config: { gateway: { allowed_users: ['telegram:1003', 'discord:1004'] } } });
  afterAll(() => program.close());

  it("sets the platform's command menu", async () => {
    await until('it was told', () => program.api.world.commands.some(({ command }) => command === 'run'));
    expect(program.api.world.commands.map(({ command }) => command)).toEqual(expect.arrayContaining(['help', 'python', 'stop', 'new']));
  });

  it('admits a user allowed on every platform, and not a user of another platform', async () => {
    for (const id of [1003, 1004]) program.api.world.says({ text: '/whoami', from: { id, is_bot: false, first_name: 'Somebody' } });
    await program.shows('Your role: user.', 1003);
    await program.shows('You are not paired with me yet', 1004);
  });

  it('tells a stranger how the operator can let them in, and not where the program is', async () => {
    program.api.world.says({ text: 'Hello?', from: { id: 1005, is_bot: false, first_name: 'Mallory' } });
    const { text } = await program.shows('You are not paired with me yet', 1005);
    expect(text).toMatch(/can let you in with hermetic pairing approve \w+\./);
  });

  it('uses a changed model at once', async () => {
    const path = join(program.directory, 'config.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('model: scripted', 'model: another'));
    program.api.world.says({ text: '/model' });
    await program.shows('openai-compatible/another');
    program.api.world.says({ text: 'hello' });
    await program.shows('Fine.');
    expect(program.model.requests.at(-1)?.body).toMatchObject({ model: 'another' });
  });

  it('serves metrics with the token only', async () => {
    const token = readFileSync(join(program.directory, 'web-token'), 'utf8').trim();
    const url = new URL('/metrics', program.link);
    expect((await fetch(url)).status).toBe(401);
    const text = await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
    expect(text).toMatch(/^hermetic_channel_up\{channel="telegram"\} 1$/m);
    expect(text).toMatch(/^hermetic_questions_open 0$/m);
    expect(text).toContain('# TYPE hermetic_network_questions_open gauge\nhermetic_network_questions_open 0\n');
    expect(text).toMatch(/^hermetic_network_grants 0$/m);
    expect(text).toMatch(/^hermetic_outbox_chats_pending \d+$/m);
    expect(text).toMatch(/^hermetic_places_to_be_told \d+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
  });

  it('forgets messages handled long ago, and keeps the unhandled ones', async () => {
    await program.stop();
    const store = await openStore(join(program.directory, 'state.db'));
    const long = new Date(Date.now() - 90 * 24 * 60 * 60 * 1000);
    const place = { platform: 'telegram', workspace: undefined, chat: '1001', thread: undefined };
    const message = {
      kind: 'message' as const,
      place,
      at: long,
      text: 'old',
      isDirect: true,
      isAddressed: true,
      quoted: undefined,
      files: [],
    };
    const accept = (id: string, at: Date) => store.inbox.accept(['a test'], { ...message, id, from: { id: '0', name: 'X' } }, at);
    const [old = 0, recent = 0] = [await accept('old', long), await accept('recent', new Date())];
    await store.inbox.done([old, recent]);
    await program.start();
    await until('it is forgotten', async () => (await store.inbox.list('done', ['a test'])).length === 1);
    expect((await store.inbox.list('done', ['a test'])).map(({ seq }) => seq)).toEqual([recent]);
    await store.close();
  });
});
