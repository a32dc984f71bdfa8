import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { ada, bob } from '../fakes/bot-api-world.ts';
import type { ModelRequest, Reply } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Program, type ProgramOptions } from './program.ts';

describe('/usage', { timeout: 90_000 }, () => {
  let program: Program;
  afterEach(() => program.close());
  const start = async (config: NonNullable<ProgramOptions['config']>) => {
    program = await Program.start({ backend: 'local', config });
  };
  const say = (text: string) => program.api.world.says({ text });
  const used = (text: string, usage: { input: number; cached?: number; output: number }): Reply => ({ pieces: [{ text }], usage });

  it('shows the cost where prices are configured, and only tokens of a model without a price', async () => {
    await start({ model: { prices: { input: 3, output: 15, cached_input: 0.3 } } });
    program.model.script = () => used('Fine.', { input: 100_000, cached: 50_000, output: 10_000 });
    say('hello');
    await program.shows('Fine.');
    say('/usage');
    await program.shows('100000 tokens in (50000 of them cached), 10000 out, about $0.3150.');
    say('/model another');
    await program.shows(/This session now uses \S+another\./);
    say('hello again');
    await until('it is answered', () => program.texts().filter((text) => text === 'Fine.').length === 2);
    say('/usage');
    await program.shows('200000 tokens in (100000 of them cached), 20000 out, about $0.3150.');
  });

  it('shows only tokens without prices', async () => {
    await start({});
    program.model.script = () => used('Fine.', { input: 100, output: 10 });
    say('hello');
    await program.shows('Fine.');
    say('/usage');
    await program.shows(/100 tokens in \(0 of them cached\), 10 out\.$/);
  });

  it.each([
    ['of the agent', 'clean up'],
    ['that was typed first of all', '/run'],
  ])("counts the tokens of a command's review: one %s", async (_whose, text) => {
    await start({ approvals: { mode: 'smart' }, model: { prices: { input: 1, output: 1 } } });
    const command = 'frobnicate clean; echo ran > marker';
    const hasRun = (): boolean => readdirSync(program.home, { recursive: true, encoding: 'utf8' }).some((path) => path.endsWith('/marker'));
    program.model.script = ({ tools, last }: ModelRequest): Reply => {
      const number = /review is (\w+)\.$/.exec(last.text)?.[1];
      if (tools.length === 0) return used(`{"review":"${number}","verdict":"low-risk"}`, { input: 7000, output: 30 });
      if (last.role === 'tool') return used('Cleaned.', { input: 200, output: 2 });
      return { pieces: [{ call: 'terminal', input: { command } }], usage: { input: 100, output: 1 } };
    };
    // An admin would not be asked, and so nothing would be reviewed.
    const from = text === '/run' ? bob : ada;
    const says = (what: string) => program.api.world.says({ text: what, from });
    says(text === '/run' ? `/run ${command}` : text);
    await until('it ran', hasRun);
    if (text !== '/run') await program.shows('Cleaned.');
    says('/usage');
    const [input, output] = text === '/run' ? [7000, 30] : [7300, 33];
    await program.shows(
      `${input} tokens in (0 of them cached), ${output} out, about $${((input + output) / 1_000_000).toFixed(4)}.`,
      from.id,
    );
    expect(program.texts(from.id).join()).not.toContain('May this run');
  });
});
