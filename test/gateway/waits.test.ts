import { afterEach, expect, it } from 'vitest';
import { Hermetic } from '../cli/hermetic.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

const [ada, bob] = [1001, 1002];

interface Listed {
  title: string;
  modelAskedAt: string | null;
  running: { command: string; waitsFor: { kind: string; place: number | null } | null }[];
}

describeContained('a turn that does not move', () => {
  let program: Program;
  afterEach(() => program.close());

  const say = (text: string, chat = ada): void =>
    void program.api.world.says({ text, from: { id: chat, is_bot: false, first_name: chat === ada ? 'Ada' : 'Bob' } });

  /** The answer to a new /status in the chat. */
  async function status(chat = ada): Promise<string> {
    const before = program.texts(chat).length;
    say('/status', chat);
    const newer = () => program.texts(chat).slice(before);
    return await until('the status is shown', () => newer().find((text) => text.includes('Usage:')));
  }

  async function sessions(): Promise<Listed[]> {
    const hermetic = new Hermetic({ HERMETIC_HOME: program.directory, HOME: program.home });
    return (JSON.parse((await hermetic.run(['status', '--json'])).stdout) as { sessions: Listed[] }).sessions;
  }

  it('says that it waits for the model, in the chat and for programs', async () => {
    program = await Program.start({ script: () => ({ pieces: [{ pauseMs: 600_000 }, { text: 'Late.' }] }) });
    say('hello');
    await until('the model is asked', () => program.model.requests.length > 0);
    expect(await status()).toMatch(/A turn has been running for .* s, waiting for the model for \d+ s\./);
    expect((await sessions())[0]?.modelAskedAt).toMatch(/^\d{4}-/);
  });

  it('says that a command waits for a free sandbox, and its place in the queue', async () => {
    const work = calls(['terminal', { command: 'echo mine' }]);
    program = await Program.start({ config: { gateway: { max_sandboxes: 1 } }, script: inTurn(work, says('Done.')) });
    say('/run echo begun; exec sleep 600');
    await until('it runs', async () => /sleep 600.*, running for/.test(await status()));
    say('work', bob);
    await program.shows('next in the queue', bob);
    expect(await status(bob)).toMatch(/terminal: .*echo mine.*, waiting for a free sandbox \(place 1 in the queue\) for \d+ s/);
    const [one] = (await sessions()).flatMap(({ running }) => running.filter(({ command }) => command === 'echo mine'));
    expect(one?.waitsFor).toEqual({ kind: 'queue', place: 1 });
    await program.shows(/^Waiting for a free sandbox \(place 1 in the queue\): echo mine \(/, bob);
    say('/stop');
    await program.shows('Done.', bob);
  });
});

describeContained('a call on a backend without isolation', () => {
  it('says that it waits for an answer to its question', async () => {
    const program = await Program.start({
      backend: 'local',
      script: inTurn(calls(['terminal', { command: 'systemctl restart nginx' }]), says('Done.')),
    });
    try {
      program.api.world.says({ text: 'work', from: { id: bob, is_bot: false, first_name: 'Bob' } });
      await program.shows('May this run', bob);
      program.api.world.says({ text: '/status', from: { id: bob, is_bot: false, first_name: 'Bob' } });
      const { text } = await program.shows('Usage:', bob);
      expect(text).toMatch(/terminal: .*systemctl restart nginx.*, waiting for an answer to its question for \d+ s/);
      expect(text).toContain('Questions pending in this session: 1');
    } finally {
      await program.close();
    }
  });
});
