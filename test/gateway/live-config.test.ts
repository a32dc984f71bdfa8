import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { AuditRecord } from '../../src/core/audit.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { bob } from '../fakes/bot-api-world.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

type Sections = Record<string, Record<string, unknown>>;

const configOf = (program: Program): string => join(program.directory, 'config.yaml');

function change(program: Program, edit: (sections: Sections) => void): void {
  const sections = parse(readFileSync(configOf(program), 'utf8')) as Sections;
  edit(sections);
  writeFileSync(configOf(program), stringify(sections));
}

function setVariables(program: Program, text: string): void {
  writeFileSync(join(program.directory, '.env'), text, { mode: 0o600 });
}

async function page(program: Program): Promise<string> {
  const token = readFileSync(join(program.directory, 'web-token'), 'utf8').trim();
  const answer = await fetch(new URL('/api/status', program.link), { headers: { authorization: `Bearer ${token}` } });
  return await answer.text();
}

/** Prints how long the forwarded value is. */
const length = `printf %s "$FORWARDED" | wc -c | sed 's/^/length /'`;

let count = 0;

/** What the bot answers to this, said by this person. */
async function ask(program: Program, text: string, id = 1001): Promise<string> {
  const before = program.sent(id).length;
  program.api.world.says({ text, from: { id, is_bot: false, first_name: 'Somebody' } });
  return await until(`${text} is answered`, () => program.texts(id).slice(before).join('\n'), { withinMs: 40_000 });
}

/** What a command prints in the sandbox of this person. */
async function run(program: Program, command: string, id = 1001): Promise<string> {
  const number = ++count;
  // While it waits, the chat shows the command, which does not have the mark as it is printed.
  const mark = `end-${number}`;
  program.api.world.says({ text: `/run ${command}; echo end-''${number}`, from: { id, is_bot: false, first_name: 'Somebody' } });
  return (await program.shows(mark, id)).text;
}

describeContained('live configuration changes', async () => {
  const terminal = { docker_forward_env: ['FORWARDED'] };
  const program = await Program.start({ config: { terminal, telegram: { allowed_users: ['1002', '1003'] } } });
  const hermetic = new Hermetic({ HERMETIC_HOME: program.directory, HOME: program.home, TELEGRAM_BOT_TOKEN: program.api.token });
  afterAll(() => program.close());

  it('refuses a removed person at the next message, and admits an added one', async () => {
    expect(await ask(program, '/whoami', 1003)).toContain('Your role: user.');
    expect(await ask(program, '/whoami', 1004)).toContain('You are not paired with me yet');
    change(program, ({ telegram }) => Object.assign(telegram ?? {}, { allowed_users: ['1004'], admins: ['1001', '1002'] }));
    expect(await ask(program, '/whoami', 1003)).toContain('You are not paired with me yet');
    expect(await ask(program, '/whoami', 1004)).toContain('Your role: user.');
    expect(await ask(program, '/whoami', 1002)).toMatch(/Your role: admin\./);
    change(program, ({ telegram }) => Object.assign(telegram ?? {}, { admins: ['1001'], allowed_users: ['1002'] }));
    expect(await ask(program, '/whoami', 1002)).toContain('Your role: user.');
  });

  it('forwards changed values into running sessions, and shows none of them', async () => {
    setVariables(program, 'FORWARDED=first-value\n');
    expect(await run(program, `${length}; echo "$FORWARDED" > kept`)).toContain('length 11');
    setVariables(program, 'FORWARDED=the-second-value\n');
    expect(await run(program, `${length}; echo "is $FORWARDED"; cat kept`)).toMatch(/length 16\nis \[redacted\]\n\[redacted\]/);
    change(program, (sections) => Object.assign(sections.terminal ?? {}, { docker_forward_env: [] }));
    expect(await run(program, length)).toContain('length 0');
    expect(program.texts().join('\n')).not.toMatch(/first-value|the-second-value/);
    expect(program.output).not.toMatch(/first-value|the-second-value/);
  });

  it('forwards changed values without ending running commands', async () => {
    change(program, (sections) => Object.assign(sections.terminal ?? {}, { docker_forward_env: ['FORWARDED'] }));
    setVariables(program, 'FORWARDED=first-value\n');
    expect(await run(program, `${length}; sleep 4000 & true`)).toContain('length 11');
    setVariables(program, 'FORWARDED=the-second-value\n');
    const sleeping = `echo "sleeping $(cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 400[0]')"`;
    expect(await run(program, `${length}; ${sleeping}`)).toMatch(/length 16\nsleeping 1/);
    change(program, (sections) => Object.assign(sections.terminal ?? {}, { docker_forward_env: [] }));
    expect(await run(program, `${length}; ${sleeping}`)).toMatch(/length 0\nsleeping 1/);
    // What else changes does not wait for processes that a command left behind.
    change(program, (sections) => Object.assign(sections.terminal ?? {}, { container_pids: 200 }));
    expect(await run(program, `${length}; ${sleeping}`)).toMatch(/length 0\nsleeping 0/);
  });

  it('keeps the last good configuration of a broken file, and warns first until it is mended', async () => {
    const good = readFileSync(configOf(program), 'utf8');
    expect(await ask(program, '/yolo')).toContain('/yolo off');
    writeFileSync(configOf(program), `${good}gateway:\n  busy_mod: queue\n`);
    const problem = /config\.yaml:\d+:\d+: gateway\.busy_mod is not a key\. Did you mean gateway\.busy_mode\?.*stays in force/;
    expect(await ask(program, '/whoami', 1002)).toContain('Your role: user.');
    expect((await ask(program, '/status')).split('\n')[0]).toMatch(problem);
    const { sections } = JSON.parse(await page(program)) as { sections: unknown[] };
    expect(sections[0]).toMatchObject({ title: 'Configuration', lines: [{ value: expect.stringMatching(problem), tone: 'bad' }] });
    const { code, stdout } = await hermetic.run(['status']);
    expect(stdout).toMatch(/^configuration +.*gateway\.busy_mod is not a key.*\nYOLO +approvals are off: telegram /);
    expect((await hermetic.run(['doctor'])).stdout).toMatch(/^configuration: wrong\n.*busy_mod.*\nYOLO, approvals are off: telegram /);
    expect([code, stdout]).toEqual([2, expect.stringContaining('running at http')]);
    await until('it is logged', () => problem.test(program.output));
    expect(program.output.match(/busy_mod is not a key/g)).toHaveLength(1);

    writeFileSync(configOf(program), good);
    expect(await ask(program, '/status')).not.toContain('busy_mod');
    expect(await page(program)).not.toContain('busy_mod');
    expect((await hermetic.run(['status'])).stdout).not.toContain('busy_mod');
    expect(program.output).toContain('the files are fine again');
    const records = await until('the records are there', async () => {
      const { stdout } = await hermetic.run(['audit', 'list', '--kind', 'config', '--json']);
      const found = JSON.parse(stdout) as AuditRecord[];
      return found.some(({ outcome }) => outcome === 'refused') ? found : undefined;
    });
    const ofGateway = { actor: 'hermetic', session: [] };
    const forwarded = { ...ofGateway, outcome: 'in force', what: { changed: ['terminal.docker_forward_env'] } };
    expect(records).toContainEqual(expect.objectContaining(forwarded));
    const refused = { ...ofGateway, outcome: 'refused', what: { problem: expect.stringMatching(problem) } };
    expect(records.filter(({ outcome }) => outcome === 'refused')).toEqual([expect.objectContaining(refused)]);
    expect(JSON.stringify(records)).not.toMatch(/first-value|the-second-value/);
    expect(await ask(program, '/yolo off')).toContain('Approvals are on again');
  });

  it('applies nothing when config.yaml is emptied or .env is readable by others', async () => {
    const good = readFileSync(configOf(program), 'utf8');
    writeFileSync(configOf(program), '');
    expect((await ask(program, '/status')).split('\n')[0]).toMatch(/config\.yaml is empty.*stays in force/);
    expect(await ask(program, '/status')).toContain('network none');
    writeFileSync(configOf(program), good);
    chmodSync(join(program.directory, '.env'), 0o644);
    expect((await ask(program, '/status')).split('\n')[0]).toMatch(/\.env can be read or written by others.*stays in force/);
    chmodSync(join(program.directory, '.env'), 0o600);
    expect(await ask(program, '/status')).not.toContain('stays in force');
  });

  it('names the configuration changes that need a restart', async () => {
    const { stderr } = await hermetic.run(['config', 'set', 'gateway.max_sandboxes', '7']);
    expect(stderr).toContain('the running gateway keeps the gateway.max_sandboxes it was started with: restart it');
    const note = 'gateway.max_sandboxes changed: restart the gateway to apply it';
    const shown = await ask(program, '/status');
    expect(shown.split('\n')[0]).toContain(note);
    expect(shown).toContain('at most 32 at once');
    expect(await page(program)).toContain(note);
    expect((await hermetic.run(['status'])).stdout).toMatch(/^configuration +gateway\.max_sandboxes changed/);
    expect(program.output).toContain(note);
    const live = await hermetic.run(['config', 'set', 'gateway.busy_mode', 'queue']);
    expect(live.stderr).not.toContain('restart');
    expect((await hermetic.run(['config', 'unset', 'gateway.max_sandboxes'])).stderr).toContain('restart it');
    expect(await ask(program, '/status')).not.toContain('changed: restart');
  });
});

describe('live configuration changes without isolation', async () => {
  const program = await Program.start({ backend: 'local', config: { approvals: { mode: 'off' } } });
  afterAll(() => program.close());

  it('asks as soon as approvals are switched on', async () => {
    expect(await run(program, 'rm -rf ~/gone', bob.id)).not.toContain('May this run');
    change(program, (sections) => Object.assign(sections.approvals ?? {}, { mode: 'manual' }));
    program.api.world.says({ text: '/run rm -rf ~/gone', from: bob });
    await program.shows('May this run', bob.id);
  });
});

await describeBackend('docker', ({ context }) => {
  describe('live configuration changes on docker', async () => {
    const terminal = { backend: 'docker', docker_image: context.docker.image, container_disk: 0, docker_forward_env: ['FORWARDED'] };
    const program = await Program.start({ config: { terminal } });
    afterAll(() => program.closeWithContainers());

    it('forwards changed values into running containers', async () => {
      setVariables(program, 'FORWARDED=first-value\n');
      expect(await run(program, `${length}; export KEPT=yes; echo file > kept`)).toContain('length 11');
      setVariables(program, 'FORWARDED=the-second-value\n');
      expect(await run(program, `${length}; echo "state $KEPT"; cat kept`)).toMatch(/length 16\nstate yes\nfile/);
    });
  });
});
