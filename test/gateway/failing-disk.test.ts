import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

const preload = new URL('./failing-disk.mjs', import.meta.url).href;

describeContained('a failing disk', () => {
  let program: Program;
  afterEach(() => program.close());
  const sign = () => join(program.home, 'disk-fails');
  const complaint = /^hermetic: \S+state\.db could not be put on disk \(EIO: i\/o error, fdatasync\)\..*start Hermetic again\.$/gm;

  it('the gateway ends with one sentence, answers no message it cannot store, and answers it once after a restart', async () => {
    program = await Program.start({ preload });
    writeFileSync(sign(), '');
    program.api.world.says({ text: 'hello' });
    expect(await program.ended()).toBe(1);
    expect(program.output.match(complaint)).toHaveLength(1);
    expect(program.output).not.toMatch(/^\s+at /m);
    expect(program.texts()).toEqual([]);
    expect(program.api.unconfirmed).toHaveLength(1);
    rmSync(sign());
    await program.start();
    await program.shows('Fine.');
    await program.told();
    expect(program.texts()).toEqual(['Fine.']);
  });

  it('the gateway ends before it runs a tool call that it could not record', async () => {
    program = await Program.start({ preload, backend: 'local' });
    const marker = join(program.home, 'marker');
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    const script = inTurn(calls(['terminal', { command: `touch ${marker}` }]), says('It ran.'));
    program.model.script = async (request) => {
      await mayAnswer;
      return await script(request);
    };
    program.api.world.says({ text: 'work' });
    await until('the model is asked', () => program.model.requests.length === 1);
    writeFileSync(sign(), '');
    answer();
    expect(await program.ended()).toBe(1);
    expect(program.output.match(complaint)).toHaveLength(1);
    expect(program.texts()).toEqual([]);
    expect(existsSync(marker)).toBe(false);
  });
});
