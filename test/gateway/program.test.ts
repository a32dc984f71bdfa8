import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

describeContained('the gateway', async () => {
  const program = await Program.start();
  afterAll(() => program.close());

  it('the platform is told the commands there are', async () => {
    await until('it was told', () => program.api.world.commands.some(({ command }) => command === 'run'));
    expect(program.api.world.commands.map(({ command }) => command)).toEqual(expect.arrayContaining(['help', 'python', 'stop', 'new']));
  });

  it('what was dealt with long ago is forgotten, and what was not is kept', async () => {
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
