import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

const secret = 'sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz';

describeContained('the status line of a turn on Telegram', () => {
  let program: Program;
  afterEach(() => program.close());
  /** Until there is a file of this name in the workspace. */
  const running = calls(['terminal', { command: `: ${secret} \`x\` ${'y'.repeat(300)}\nuntil [ -e go ]; do sleep 0.1; done` }]);
  const go = (): void => {
    for (const workspace of globSync(join(program.directory, 'sandboxes', 'bubblewrap', '*', 'workspace')))
      writeFileSync(join(workspace, 'go'), '');
  };
  const isLine = ({ text }: { text: string }): boolean => /^(Running|Thinking)/.test(text);

  it('shows the running tool in one silent message that is edited in place and removed at the end', async () => {
    program = await Program.start({ script: inTurn(running, says('Done.')) });
    program.api.world.says({ text: 'work' });
    const line = await program.shows('Running');
    expect(program.api.callsOf('sendMessage').at(-1)?.parameters).toMatchObject({ disable_notification: true });
    await until('it was changed', () => line.versions.length >= 2);
    go();
    await program.shows('Done.');
    await until('it is gone', () => !program.sent().some(isLine));
    expect(program.texts()).toEqual(['Done.']);
    expect(program.api.world.removed.map(({ id }) => id)).toEqual([line.id]);
    const versions = program.api.world.removed[0]?.versions ?? [];
    for (const version of versions) {
      expect(version).not.toContain(secret);
      expect(version.length).toBeLessThan(150);
    }
    expect(versions[0]).toMatch(/^Running .*… \(\d+ s\)$/);
  });

  it('shows no status line when no tool runs, however long the model takes', async () => {
    program = await Program.start({ script: () => ({ pieces: [{ pauseMs: 5000 }, { text: 'Fine.' }] }) });
    program.api.world.says({ text: 'hello' });
    await program.shows('Fine.');
    await program.told();
    expect(program.api.callsOf('sendMessage')).toHaveLength(1);
  });

  it('removes the status line of a killed gateway at the next start', async () => {
    program = await Program.start({ script: inTurn(running, says('That is all.')) });
    program.api.world.says({ text: 'work' });
    await program.shows('Running');
    await program.told();
    await program.restart();
    await until('it is gone', () => !program.sent().some(isLine));
    expect(program.api.world.removed).toHaveLength(1);
    await program.shows('interrupted');
  });
});
