import { afterEach, describe, expect, it } from 'vitest';
import { type Script, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { Program, type ProgramOptions } from './program.ts';

describe('the model of a chat', { timeout: 90_000 }, () => {
  let program: Program;
  afterEach(() => program.close());
  const start = async (script: Script, options: ProgramOptions) => {
    program = await Program.start({ backend: 'local', script, ...options });
  };
  const say = (text: string) => program.api.world.says({ text });

  it('goes on with another model of Anthropic after /model, in the same conversation', async () => {
    const answers = () => program.texts().filter((text) => text === 'Fine.').length;
    const thinks: Script = () => ({ pieces: [{ think: 'Hm.' }, { text: 'Fine.' }] });
    await start(thinks, { config: { model: { provider: 'anthropic', model: 'claude-a' } }, environment: { ANTHROPIC_API_KEY: 'key' } });
    for (const [index, text] of ['hello', '/model claude-b', 'and you?', '/model claude-a', 'and you again?'].entries()) {
      say(text);
      if (index % 2 === 0) await until(`${text} is answered`, () => answers() === index / 2 + 1);
      else await program.shows(`This session now uses anthropic/${text.slice('/model '.length)}.`);
    }
    expect(program.model.requests.map(({ body }) => body.model)).toEqual(['claude-a', 'claude-b', 'claude-a']);
  });

  it('that says nothing is given up after model.stall_seconds, and the person is told', async () => {
    await start(() => ({ pieces: [{ until: new Promise(() => undefined) }] }), { config: { model: { stall_seconds: 0.5 } } });
    say('hello');
    await program.shows(/scripted said nothing for 0\.5 s\. .*model\.stall_seconds/);
    expect(program.model.requests).toHaveLength(1);
    program.model.script = () => says('Here I am.');
    say('hello?');
    await program.shows('Here I am.');
  });
});
