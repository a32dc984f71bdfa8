import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/stores/index.ts';
import { bin } from '../bin.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { itNeeding } from '../needs.ts';
import { until } from '../until.ts';
import { Program, type ProgramOptions } from './program.ts';

describe('questions that end elsewhere', { timeout: 90_000 }, () => {
  let program: Program;
  afterEach(() => program.close());
  const runs = (): number => {
    const path = join(program.home, 'marker');
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
  };
  const dangerous = () => `rm -rf ${program.home}/nothing; echo ran >> ${program.home}/marker`;
  const hermetic = async (...args: string[]) => {
    const env = { PATH: process.env.PATH ?? '', HOME: program.home, HERMETIC_HOME: program.directory };
    return (await promisify(execFile)(process.execPath, [bin, ...args], { env, cwd: program.home })).stdout;
  };
  /** Resolves with the code of the question when its card is there. */
  const asked = async (config: ProgramOptions['config'] = {}, text = 'clean up') => {
    // What an admin types is not asked about.
    const telegram = text === '/run' ? { admins: [], allowed_users: ['1001'] } : {};
    program = await Program.start({ backend: 'local', config: { ...config, telegram } });
    program.model.script = inTurn(calls(['terminal', { command: dangerous() }]), says('I see.'));
    program.api.world.says({ text: text === 'clean up' ? text : `${text} ${dangerous()}` });
    const card = await program.shows('May this run');
    await program.told();
    return /\((\w{6})\)/.exec(card.text)?.[1] ?? '';
  };
  const hasNoButtons = () => program.sent().every(({ markup }) => !markup?.inline_keyboard.length);
  const toldToModel = () => JSON.stringify(program.model.requests.at(-1)?.messages);

  it('a denial at the shell removes the buttons and shows the outcome', async () => {
    const code = await asked();
    await hermetic('approvals', 'deny', code);
    await program.shows('I see.');
    await program.shows(/May this run[\s\S]*Denied by/);
    expect(hasNoButtons()).toBe(true);
    expect(runs()).toBe(0);
  });

  it.each([
    ['deny', /May this run[\s\S]*Denied by/, 0],
    ['approve', /May this run[\s\S]*Allowed once by/, 1],
  ] as const)('a decision at the shell by %s while the gateway is down shows at the next start', async (how, outcome, times) => {
    const code = await asked();
    await program.kill();
    await hermetic('approvals', how, code);
    await program.start();
    await program.shows(outcome);
    await program.shows('I see.');
    expect(hasNoButtons()).toBe(true);
    expect(runs()).toBe(times);
    expect(program.texts().join()).not.toContain('interrupted');
  });

  it.each(['clean up', '/run'])(
    'a question that expires while the gateway is down is not reported as an interruption: %s',
    async (text) => {
      await asked({ approvals: { timeout: 3 } }, text);
      await program.kill();
      // Listing the questions settles those that are overdue.
      await until('it is over', async () => (await hermetic('approvals', 'list')) !== undefined && (await isExpired()));
      await program.start();
      await program.shows(/May this run[\s\S]*No answer in time, so it was not run\./);
      if (text === 'clean up') {
        await program.shows('I see.');
        expect(toldToModel()).toMatch(/no answer came within/);
      } else await program.shows(/no answer came within/);
      expect(hasNoButtons()).toBe(true);
      expect(runs()).toBe(0);
      expect(program.texts().join()).not.toContain('interrupted');
    },
  );

  const isExpired = async () => {
    const store = await openStore(join(program.directory, 'state.db'));
    try {
      return (await store.approvals.list({ state: 'expired' })).length === 1;
    } finally {
      await store.close();
    }
  };

  it('a question withdrawn while the gateway is down is not reported as an interruption', async () => {
    const code = await asked();
    await program.kill();
    const store = await openStore(join(program.directory, 'state.db'));
    const question = await store.approvals.find(code);
    await store.approvals.withdraw(question?.id ?? '', new Date(), []);
    await store.close();
    await program.start();
    await program.shows(/May this run[\s\S]*Withdrawn\./);
    await program.shows('The question was withdrawn, so it was not run.');
    expect(hasNoButtons()).toBe(true);
    expect(runs()).toBe(0);
    expect(program.texts().join()).not.toContain('interrupted');
  });

  it('removes the buttons at the next start when the turn is over and only the card is left', async () => {
    const code = await asked();
    await program.kill();
    const store = await openStore(join(program.directory, 'state.db'));
    const running = await store.inbox.list('running');
    await store.inbox.done(running.map(({ seq }) => seq));
    await store.close();
    await hermetic('approvals', 'deny', code);
    await program.start();
    await program.shows(/May this run[\s\S]*Denied by/);
    expect(hasNoButtons()).toBe(true);
  });

  itNeeding(['python3'], 'withdraws the question of an interrupted script, and does not run the script again', async () => {
    program = await Program.start({ backend: 'local', config: { approvals: { mode: 'manual' } } });
    const code = `from hermetic_tools import terminal\nopen("${program.home}/marker", "a").write("ran\\n")\nterminal(command="rm -rf ${program.home}/nothing")`;
    program.model.script = inTurn(calls(['execute_code', { language: 'python', code }]), says('never said'));
    program.api.world.says({ text: 'script' });
    const first = await program.shows('May this run');
    program.api.world.presses(1001, first.id, 'Once');
    await until('the script asks', () => program.sent().filter(({ text }) => text.includes('May this run')).length === 2);
    await program.told();
    expect(runs()).toBe(1);
    await program.restart();
    await program.shows('I was interrupted while running execute_code');
    await until('no card has buttons', hasNoButtons);
    await program.shows(/May this run[\s\S]*Withdrawn\./);
    expect(runs()).toBe(1);
  });
});
