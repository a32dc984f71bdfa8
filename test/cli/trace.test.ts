import { rm } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { describeContained } from '../gateway/contained.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

const secret = 'hunter2-is-the-password';

describeContained('log.trace', () => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap', TERMINAL_NETWORK: 'none' });
  afterAll(() => rm(hermetic.home, { recursive: true, force: true }));

  it('writes how a command gets its shell and ends, with times and nothing of the command', async () => {
    const { stdout, stderr } = await hermetic.run(['run', '--', `echo ${secret}; exit 3`], {
      environment: { HERMETIC_LOG_TRACE: 'shell,pool' },
    });
    expect(stdout).toBe(`${secret}\n`);
    expect(stderr).not.toContain(secret);
    const steps = stderr.split('\n').filter((line) => / trace shell /.test(line));
    for (const step of steps) expect(step).toMatch(/^hermetic: \d{4}-\d\d-\d\dT\S+Z trace shell \S+: /);
    const all = steps.join('\n');
    expect(all).toMatch(
      /shell \S+: is started[\s\S]*: ready[\s\S]*: a command begins[\s\S]*: exiting with 3[\s\S]*its command has ended: exited/,
    );
  });

  it('writes nothing without it, and refuses a part that does not exist', async () => {
    expect((await hermetic.run(['run', '--', 'true'])).stderr).not.toContain(' trace ');
    const { code, stderr } = await hermetic.run(['run', '--', 'true'], { environment: { HERMETIC_LOG_TRACE: 'shell,pol' } });
    expect(code).toBe(2);
    expect(stderr).toContain('HERMETIC_LOG_TRACE: log.trace[1] must be one of shell, pool, turn, egress, not "pol". Did you mean pool?');
  });

  it('is followed by a running gateway, hides secrets of its configuration, and ends when it is taken out', async () => {
    const script = inTurn(calls(['terminal', { command: 'curl -s http://example.test/ || true' }]), says('Done.'));
    const program = await Program.start({
      script,
      config: { terminal: { network: 'restricted' }, network: { ask: false } },
      environment: { SOME_TOKEN: 'example.test' },
    });
    try {
      const here = new Hermetic({ HERMETIC_HOME: program.directory, HOME: program.home });
      let runs = 0;
      /** Whether a turn leaves a trace. */
      const isTraced = async (): Promise<boolean> => {
        const before = program.output.length;
        program.api.world.says({ text: `/run echo run-$((${runs} + 1))` });
        runs += 1;
        await program.shows(`run-${runs}`);
        return program.output.slice(before).includes(' trace turn ');
      };
      expect(await isTraced()).toBe(false);
      await here.run(['config', 'set', 'log.trace', 'turn, egress']);
      await until('the gateway follows the file', isTraced);
      program.api.world.says({ text: 'work' });
      await program.shows('Done.');
      expect(program.output).toMatch(
        / trace turn (\S+): the model is asked[\s\S]* trace turn \1: call \S+ begins: terminal[\s\S]* trace turn \1: has ended/,
      );
      // Security: the name of a host is a secret here.
      expect(program.output).toMatch(/ trace egress network \d+: \[redacted\]:80 blocked \(unlisted\)/);
      expect(program.output).not.toContain('example.test');
      await here.run(['config', 'unset', 'log.trace']);
      await until('the trace has ended', async () => !(await isTraced()));
    } finally {
      await program.close();
    }
  });
});
