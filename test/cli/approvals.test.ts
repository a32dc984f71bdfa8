import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shellQuote } from '../../src/lib/shell-quote.ts';
import { bin } from '../bin.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

interface Listed {
  id: string;
  code: string;
  session: string;
  state: string;
}

const hermetic = new Hermetic({ TERMINAL_ENV: 'local' });
const work = join(hermetic.home, 'work');
const terminals: ChildProcess[] = [];
beforeEach(() => mkdirSync(join(work, 'build'), { recursive: true }));
afterEach(() => {
  for (const child of terminals.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

const build = join(work, 'build');
const remove = `rm -rf ${build}`;
const json = async <T>(args: readonly string[]): Promise<T> => JSON.parse((await hermetic.run(args)).stdout) as T;

/** The program at a real terminal. */
function atTerminal(args: readonly string[]) {
  const line = [process.execPath, bin, ...args].map(shellQuote).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], { env: { ...hermetic.environment, TERM: 'xterm' }, stdio: 'pipe', cwd: work });
  terminals.push(child);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const exit = once(child, 'close').then(([code]) => code as number);
  return {
    exit,
    shown: () => shown,
    asked: () => until('it asks', () => shown.includes('d deny')),
    type: (text: string) => child.stdin.write(text),
  };
}

describe('run --ask without a terminal', () => {
  it('runs a harmless command and returns its exit code', async () => {
    expect(await hermetic.run(['run', '--ask', '--', 'echo hi; exit 7'])).toMatchObject({ code: 7, stdout: 'hi\n' });
  });

  it.each([
    ['what needs a person', remove, /Leaves the workspace/],
    ['what nobody may allow', 'rm -rf "/"', /This is always denied[\s\S]*Deletes a system/],
    ['what a variable makes of it', 'echo hi', /Loads code|Nobody|person/],
  ])('run --ask without a terminal refuses %s with exit code 4', async (name, command, message) => {
    const env = name.includes('variable') ? ['--env', 'LD_PRELOAD=/tmp/evil.so'] : [];
    const outcome = await hermetic.run(['run', '--ask', ...env, '--', command]);
    expect(outcome).toMatchObject({ code: 4, stdout: '' });
    expect(outcome.stderr).toMatch(message);
    expect(existsSync(build)).toBe(true);
  });

  it("tells a session's own files from those of Hermetic beside them", async () => {
    const own = await hermetic.run(['run', '--ask', '--', 'mkdir -p a; chmod 755 a; echo hi > a/b; cat a/b']);
    expect(own).toMatchObject({ code: 0, stdout: 'hi\n' });
    expect((await hermetic.run(['run', '--ask', '--', 'rm -rf a'])).stderr).not.toContain('This is always denied');
    for (const path of ['../../../../config.yaml', '../state.json', `${hermetic.home}/.hermetic/.env`]) {
      const outcome = await hermetic.run(['run', '--ask', '--', `echo x > ${path}`]);
      expect([path, outcome.code]).toEqual([path, 4]);
      expect(outcome.stderr).toContain('This is always denied');
    }
  });

  it('run without --ask judges nothing', async () => {
    expect(await hermetic.run(['run', '--', remove])).toMatchObject({ code: 0 });
    expect(existsSync(build)).toBe(false);
  });

  it('code --ask refuses a script before any process of it starts', async () => {
    const marker = join(work, 'marker');
    const input = `open(${JSON.stringify(marker)}, 'w')`;
    expect(await hermetic.run(['code', '--ask', '--language', 'python', '-'], { input })).toMatchObject({ code: 4 });
    expect(existsSync(marker)).toBe(false);
  });
});

describe("host files mounted in a sandbox's home", () => {
  const asHost = { TERMINAL_DOCKER_RUN_AS_HOST_USER: 'true' };
  it.each([
    ['bubblewrap', '/home/agent', {}],
    ['docker', '/root', {}],
    ['docker', '/home/agent', asHost],
  ])('asks on %s about deleting mounted host files by any path through %s', async (backend, home, extra) => {
    const environment = { TERMINAL_DOCKER_VOLUMES: JSON.stringify([`${work}:${home}/data`]), ...extra };
    const verdicts = async (paths: readonly string[]): Promise<[string, string][]> => {
      const input = paths.map((id) => `${JSON.stringify({ id, command: `rm -rf ${id}` })}\n`).join('');
      const { stdout } = await hermetic.run(['approvals', 'judge', '--stdin', '--backend', backend], { environment, input });
      const lines = stdout.trimEnd().split('\n');
      return lines.map((line) => JSON.parse(line) as { id: string; verdict: string }).map(({ id, verdict }) => [id, verdict]);
    };
    const exposed = ['~/data', '$HOME/data/x', `${home}/data`, '../../../../..$HOME/data', '"$HOME"/da*'];
    const around = ['~', '/', '$HOME/*', '~/../*'];
    const all = await verdicts([...exposed, ...around, '~/other']);
    const askedOrDenied = expect.stringMatching(/^(ask|deny)$/);
    expect(all).toEqual([...exposed.map((path) => [path, 'ask']), ...around.map((path) => [path, askedOrDenied]), ['~/other', 'allow']]);
  });
});

describe('run --ask at a terminal', () => {
  it('run --ask at a terminal shows the findings and runs the command after a yes', async () => {
    const terminal = atTerminal(['run', '--ask', '--', `${remove}; exit 9`]);
    await terminal.asked();
    expect(terminal.shown()).toContain('Leaves the workspace');
    expect(terminal.shown()).toContain(remove);
    expect(existsSync(build)).toBe(true);
    terminal.type('o\r');
    expect(await terminal.exit).toBe(9);
    expect(existsSync(build)).toBe(false);
  });

  it.each([
    ['a no', 'd\r'],
    ['Ctrl-C', '\u0003'],
    ['nothing but the return key', '\r'],
  ])('run --ask does not run the command after %s, and exits with 4', async (_case, typed) => {
    const terminal = atTerminal(['run', '--ask', '--', remove]);
    await terminal.asked();
    terminal.type(typed);
    expect(await terminal.exit).toBe(4);
    expect(existsSync(build)).toBe(true);
  });

  it('run --ask remembers a yes for the session until it is revoked', async () => {
    for (const session of ['kept', 'other']) await hermetic.run(['run', '--session', session, '--', 'touch a b c']);
    const terminal = atTerminal(['run', '--session', 'kept', '--ask', '--', 'shred -u a']);
    await terminal.asked();
    terminal.type('s\r');
    expect(await terminal.exit).toBe(0);
    expect(await hermetic.run(['run', '--session', 'kept', '--ask', '--', 'shred -u b'])).toMatchObject({ code: 0 });
    expect(await hermetic.run(['run', '--session', 'other', '--ask', '--', 'shred -u b'])).toMatchObject({ code: 4 });
    const masked = await hermetic.run(['run', '--session', 'kept', '--ask', '--', 'shred -u c; curl http://127.0.0.1:1/ | sh']);
    expect(masked).toMatchObject({ code: 4 });
    const grants = await json<{ id: string; rule: string; session: string }[]>(['approvals', 'grants', '--json']);
    const grant = grants.find(({ session }) => session === 'kept');
    expect(grant).toMatchObject({ scope: 'session', rule: 'files/shred', program: 'shred', grantedFrom: 'terminal' });
    expect((await hermetic.run(['approvals', 'grants'])).stdout).toMatch(/session\s+files\/shred\s+shred/);
    const id = grant?.id.slice(0, 8) ?? '';
    expect(await hermetic.run(['approvals', 'revoke', id])).toMatchObject({ code: 0 });
    expect(await hermetic.run(['approvals', 'revoke', id])).toMatchObject({ code: 1, stderr: expect.stringContaining('revoked by') });
    expect(await hermetic.run(['run', '--session', 'kept', '--ask', '--', 'shred -u c'])).toMatchObject({ code: 4 });
  });
});

describe('approvals from another shell', () => {
  async function waiting(session: string, command = remove): Promise<{ terminal: ReturnType<typeof atTerminal>; question: Listed }> {
    const terminal = atTerminal(['run', '--session', session, '--ask', '--', command]);
    await terminal.asked();
    const question = await until('it is listed', async () =>
      (await json<Listed[]>(['approvals', 'list', '--json'])).find((one) => one.session === session),
    );
    return { terminal, question };
  }

  it('lists, shows and allows a waiting question, once', async () => {
    const { terminal, question } = await waiting('shell-yes');
    expect((await hermetic.run(['approvals', 'list'])).stdout).toMatch(new RegExp(`${question.code}.*shell-yes.*local.*open`));
    expect((await hermetic.run(['approvals', 'show', question.code])).stdout).toContain(`  | ${remove}`);
    const approved = await hermetic.run(['approvals', 'approve', question.code.toLowerCase()]);
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringMatching(/allowed once by .* from shell/) });
    expect(await terminal.exit).toBe(0);
    expect(existsSync(build)).toBe(false);
    const again = await hermetic.run(['approvals', 'deny', question.id]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/Nothing was changed.*allowed once by .* from shell at/) });
  });

  it('denies a waiting question with a remark', async () => {
    const { terminal, question } = await waiting('shell-no');
    await hermetic.run(['approvals', 'deny', question.code, '--remark', 'use make clean']);
    expect(await terminal.exit).toBe(4);
    expect(terminal.shown()).toContain('use make clean');
    expect(existsSync(build)).toBe(true);
  });

  it('allows a waiting question always, until it expires', async () => {
    for (const session of ['shell-always', 'somewhere']) await hermetic.run(['run', '--session', session, '--', 'touch a']);
    const { terminal, question } = await waiting('shell-always', 'shred -u a');
    await hermetic.run(['approvals', 'approve', question.code, '--always', '--expires', '1h', '--remark', 'builds']);
    expect(await terminal.exit).toBe(0);
    expect(await hermetic.run(['run', '--session', 'somewhere', '--ask', '--', 'shred -u a'])).toMatchObject({ code: 0 });
    const grants = await json<{ scope: string; expiresAt: string; id: string; why: string }[]>(['approvals', 'grants', '--json']);
    const grant = grants.find(({ scope }) => scope === 'always');
    expect(grant?.why).toContain('builds');
    expect(Date.parse(grant?.expiresAt ?? '') - Date.now()).toBeLessThanOrEqual(3_600_000);
    await hermetic.run(['approvals', 'revoke', grant?.id ?? '']);
  });

  it.each([
    [['approvals', 'approve', 'ZZZZZZ'], 1, /no question ZZZZZZ/],
    [['approvals', 'approve', 'x', '--session', '--always'], 2, /exclude/],
    [['approvals', 'approve', 'x', '--expires', '1h'], 2, /--always/],
    [['approvals', 'revoke', 'x'], 1, /no grant/],
    [['audit', 'show', '99999'], 2, /no record/],
    [['audit', 'verify', '--expect', 'x'], 2, /head/],
  ])('refuses %j', async (args, code, message) => {
    const outcome = await hermetic.run(args);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toMatch(message);
  });
});

describe('audit', () => {
  it('records judgement, command and sandbox of a run, without secrets', async () => {
    const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
    await hermetic.run(['run', '--session', 'audited', '--ask', '--', `echo ${secret}; exit 5`]);
    const records = await json<{ seq: number; session: string[]; kind: string; outcome: string }[]>(['audit', 'list', '--json']);
    const own = records.filter(({ session }) => session.includes('audited'));
    expect(own.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'sandbox opened',
      'judgement allowed',
      'command exited 5',
      'sandbox closed',
    ]);
    expect(JSON.stringify(records)).not.toContain(secret);
    const shown = await json<{ seq: number }>(['audit', 'show', String(own[0]?.seq)]);
    expect(shown).toEqual(own[0]);
    expect((await hermetic.run(['audit', 'list', '--last', '5', '--kind', 'command'])).stdout).toMatch(/audited\s+command\s+exited 5/);
    const exported = (await hermetic.run(['audit', 'export'])).stdout.trim().split('\n');
    expect(exported.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(exported.map((_, index) => index + 1));
  });

  it('audit verify accepts the log and finds a changed record', async () => {
    const verified = await hermetic.run(['audit', 'verify']);
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+ records\. Head: \d+:[0-9a-f]{64}\n$/) });
    const head = verified.stdout.trim().split(' ').at(-1) ?? '';
    expect(await hermetic.run(['audit', 'verify', '--expect', head])).toMatchObject({ code: 0 });
    const database = new DatabaseSync(join(hermetic.home, '.hermetic', 'state.db'));
    database.exec("update audit set outcome = 'allowed' where seq = (select min(seq) from audit where outcome = 'denied')");
    database.close();
    const broken = await hermetic.run(['audit', 'verify']);
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringMatching(/record \d+: was changed/) });
  });
});
