import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { fillDisk, freeDisk, mountDisk, unmountDisk } from '../full-disk.ts';
import { Program } from '../gateway/program.ts';
import { describeNeeding } from '../needs.ts';
import { until } from '../until.ts';

const noSpace = /cannot be written: no space is left/;

/** A gateway whose home is a small disk of its own, which can be filled to the last byte. */
describeNeeding(['mount'], 'a gateway on a full disk', async () => {
  const program = await Program.start({ backend: 'local', prepare: mountDisk });
  afterAll(async () => {
    await program.kill();
    unmountDisk(program.home);
    await program.close();
  });
  const free = (): void => freeDisk(program.home);
  const fill = (): void => fillDisk(program.home);
  const heard = (): string[] => program.model.requests.map(({ last }) => /\n(.*)\n/.exec(last.text)?.[1] ?? '');

  it('accepts no message on a full disk, says why, and answers it once there is room', async () => {
    program.api.world.says({ text: 'first' });
    await program.shows('Fine.');
    await program.told();
    fill();
    program.api.world.says({ text: 'second' });
    await until('the log says why', () => noSpace.test(program.output));
    expect([program.texts(), program.api.unconfirmed.length, heard()]).toEqual([['Fine.'], 1, ['first']]);
    free();
    await until('it is answered', () => program.texts().length === 2);
    await program.told();
    expect([program.texts(), heard()]).toEqual([
      ['Fine.', 'Fine.'],
      ['first', 'second'],
    ]);
    expect(program.output).not.toMatch(/^\s+at /m);
  });

  it('runs no tool on a full disk, and tells the person once there is room', async () => {
    const marker = join(program.home, 'marker');
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    const script = inTurn(calls(['terminal', { command: `touch ${marker}` }]), says('It ran.'));
    const before = program.output.length;
    program.model.script = async (request) => {
      await mayAnswer;
      return await script(request);
    };
    const asked = program.model.requests.length;
    program.api.world.says({ text: 'work' });
    await until('the model is asked', () => program.model.requests.length > asked);
    fill();
    answer();
    await until('the log says why', () => noSpace.test(program.output.slice(before)));
    expect([program.texts().length, readdirSync(program.home).includes('marker')]).toEqual([2, false]);
    free();
    await program.shows(noSpace);
    await program.told();
    program.model.script = () => says('Here again.');
    program.api.world.says({ text: 'and now?' });
    await program.shows('Here again.');
    await program.told();
    expect(program.texts()).toEqual(['Fine.', 'Fine.', expect.stringMatching(noSpace), 'Here again.']);
    expect(readdirSync(program.home)).not.toContain('marker');
    expect(program.output).not.toMatch(/^\s+at /m);
  });

  it('keeps config.yaml and .env unchanged when a command fails on a full disk', async () => {
    writeFileSync(join(program.directory, '.env'), 'KEPT=1\n', { mode: 0o600 });
    const files = ['config.yaml', '.env'].map((name) => join(program.directory, name));
    const before = files.map((file) => readFileSync(file, 'utf8'));
    const names = readdirSync(program.directory);
    fill();
    const environment = { PATH: process.env.PATH, HOME: program.home, HERMETIC_HOME: program.directory };
    const run = (...words: string[]) =>
      spawnSync(process.execPath, [bin, ...words], { env: environment, encoding: 'utf8', input: 'value' });
    for (const words of [
      ['config', 'set', 'terminal.timeout', '77'],
      ['secret', 'set', 'OTHER'],
    ]) {
      const { status, stderr } = run(...words);
      expect([status, stderr]).toEqual([2, expect.stringMatching(/was not changed: .*no space/)]);
    }
    expect(run('run', '--', 'true')).toMatchObject({ status: 1, stderr: expect.stringMatching(noSpace) });
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before);
    expect(readdirSync(program.directory).filter((name) => !names.includes(name) && !/lock|journal|-wal|-shm/.test(name))).toEqual([]);
    free();
    expect(run('config', 'set', 'terminal.timeout', '77').status).toBe(0);
  });

  it('recovers after it was killed on a full disk', async () => {
    fill();
    await program.kill();
    free();
    await program.start();
    program.api.world.says({ text: 'still there?' });
    await until('it is answered', () => program.texts().at(-1) === 'Here again.' && program.texts().length === 5);
  });
});
