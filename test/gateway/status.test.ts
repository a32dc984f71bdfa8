import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Hermetic } from '../cli/hermetic.ts';
import { bob } from '../fakes/bot-api-world.ts';
import { calls, says } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

describeContained('session status', async () => {
  const program = await Program.start({
    script: ({ last }) => (last.text.includes('work') ? calls(['terminal', { command: 'exec sleep 1000' }]) : says('Fine.')),
  });
  const hermetic = new Hermetic({ HERMETIC_HOME: program.directory, HOME: program.home });
  afterAll(() => program.close());
  const { world } = program.api;

  /** The answer to the newest /status. */
  async function status(): Promise<string> {
    const before = program.texts().length;
    world.says({ text: '/status' });
    return await until('the status is shown', () =>
      program
        .texts()
        .slice(before)
        .find((text) => text.includes('Usage:')),
    );
  }

  async function page(): Promise<{ sections: { title: string; lines: { label: string; value: string }[] }[] }> {
    const token = readFileSync(join(program.directory, 'web-token'), 'utf8').trim();
    const answer = await fetch(new URL('/api/status', program.link), { headers: { authorization: `Bearer ${token}` } });
    return (await answer.json()) as Awaited<ReturnType<typeof page>>;
  }

  it('/status begins with yolo, and shows what runs and since when, what waits and what was used', async () => {
    world.says({ text: '/yolo' });
    await program.shows('Turned approvals off for you');
    world.says({ text: 'please work' });
    await until('the command runs', async () => /exec sleep 1000.*, running for/.test(await status()), { withinMs: 60_000 });
    const text = await status();
    expect(text).toMatch(
      /^\W*YOLO: approvals are off in this session, for (\d+ min )?\d+ s \(only for telegram:1001\)\. Turn them on with \/yolo off\.\n/,
    );
    expect(text).toMatch(/A turn has been running for (\d+ min )?\d+ s\./);
    expect(text).toMatch(/terminal: .*exec sleep 1000.*, running for (\d+ min )?\d+ s/);
    expect(text).toMatch(/on bubblewrap: in use/);
    expect(text).toContain('Questions pending in this session: 0');
    expect(text).toMatch(/Usage: \d+ tokens in/);
    expect(text).toMatch(/Approvals: manual, 0 pending in all sessions/);
  });

  it('the page, hermetic status and hermetic doctor begin with yolo, and show every session alike', async () => {
    const { sections } = await page();
    expect(sections[0]).toMatchObject({ title: 'Yolo: approvals are off' });
    expect(JSON.stringify(sections[1])).toMatch(/terminal exec sleep 1000, running for .* sandbox on bubblewrap: in use/);
    const shown = (await hermetic.run(['status'])).stdout;
    expect(shown).toMatch(/^YOLO +approvals are off: telegram \S.*: off for .* \(only for telegram:1001\)\n/);
    expect(shown).toMatch(/terminal exec sleep 1000, running for (\d+ min )?\d+ s; sandbox on bubblewrap: in use/);
    const doctor = (await hermetic.run(['doctor'])).stdout;
    expect(doctor).toMatch(/^YOLO, approvals are off: telegram \S/);
    expect(doctor).toMatch(/^approvals: manual, 0 pending$/m);
    expect(doctor).toMatch(/^session telegram .*: terminal exec sleep 1000, running for /m);
  });

  it('lists a session that has only used commands', async () => {
    world.says({ text: '/run echo ran-inside', from: bob });
    await program.shows('ran-inside', 1002);
    expect((await hermetic.run(['doctor'])).stdout).toMatch(/^session telegram Bob\b.*: sandbox on bubblewrap/m);
  });

  it('a session at rest shows how long its sandbox is kept, and no commands of others', async () => {
    world.says({ text: '/status', from: bob });
    const others = await program.shows('Usage:', 1002);
    expect(others.text).toMatch(/^\W*Nothing is running\./);
    expect(others.text).not.toContain('sleep');
    world.says({ text: '/stop' });
    await until('the sandbox is idle', async () => /on bubblewrap: (1 h|\d+ min( \d+ s)?) left unless it is used/.test(await status()));
    world.says({ text: '/yolo off' });
    await until('yolo is off', async () => !(await status()).includes('YOLO'));
    expect((await page()).sections[0]?.title).not.toContain('Yolo');
    expect((await hermetic.run(['doctor'])).stdout).toMatch(/^configuration: fine\n/);
  });

  it('a start prints who may talk on each channel', async () => {
    expect(program.output).toContain('Who may talk on telegram: 1 admin: 1001; 1 allowed user: 1002\n');
    expect(program.output).toContain('Who may talk on web: only you, its owner, as an admin\n');
    expect(program.output).not.toContain('WARNING: Who');
  });
});

describeContained('an open or an empty access list', async () => {
  it.each([
    [
      { admins: [], allowed_users: [] },
      /^hermetic: Who may talk on telegram: no one until you let them in: .*hermetic pairing approve CODE$/m,
    ],
    [
      { allow_all: true },
      /^hermetic: WARNING: Who may talk on telegram: EVERYONE who finds the bot \(telegram\.allow_all\); 1 admin: 1001/m,
    ],
  ])('a start reports the access list %j', async (telegram, line) => {
    const program = await Program.start({ config: { telegram } });
    try {
      expect(program.output).toMatch(line);
    } finally {
      await program.close();
    }
  });
});
