import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
beforeEach(() => {
  hermetic = new Hermetic({ TERMINAL_ENV: 'local', HERMETIC_WEB_PORT: '0' });
});
afterEach(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

const noStack = /^(?!.*^\s+at )(?!.*node:)/ms;

describe('failures of the machine', () => {
  it.each([['status'], ['doctor'], ['sandbox', 'list'], ['run', '--', 'true'], ['shell'], ['chat'], ['start']])(
    'reports a home without write access in one sentence: %s %s',
    async (...args) => {
      const { code, stdout, stderr } = await hermetic.run(args, { environment: { HERMETIC_HOME: '/proc' } });
      expect(stderr).toMatch(/^error: .*\/proc\//m);
      expect(stderr).toMatch(noStack);
      expect([1, 2]).toContain(code);
      expect(stdout).toBe('');
    },
  );

  it.each(['/proc/nope', '/proc/nope/deeper'])('reports a home that cannot be made in one sentence: %s', async (home) => {
    const { code, stdout, stderr } = await hermetic.run(['status'], { environment: { HERMETIC_HOME: home } });
    expect(stderr).toBe(
      `error: ${home} cannot be made or is not a directory (ENOENT).\nhint: Set HERMETIC_HOME to a directory you can write to.\n`,
    );
    expect([code, stdout]).toEqual([2, '']);
  });

  it('reports a sandbox directory that cannot be made in one sentence', async () => {
    const { code, stdout, stderr } = await hermetic.run(['run', '--', 'true'], { environment: { TERMINAL_SANDBOX_DIR: '/proc/nope' } });
    expect(stderr).toMatch(/^error: .*\/proc\/nope/m);
    expect(stderr).toMatch(noStack);
    expect([code, stdout]).toEqual([1, '']);
  });

  it.each(['start', 'chat'])('reports files that cannot grow in one sentence: %s', async (command) => {
    await hermetic.run(['status']);
    const { code, stderr } = await run('ulimit -f 0; exec "$@"', [command]);
    expect(stderr).toMatch(/^error: .*state\.db cannot be read or written/m);
    expect(stderr).toMatch(noStack);
    expect(code).toBe(1);
  });

  it('mcp reports a taken port in one sentence', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    try {
      const { code, stderr } = await hermetic.run(['mcp', '--http', String(port)]);
      expect(stderr).toMatch(new RegExp(`^error: 127\\.0\\.0\\.1 port ${port} cannot be listened on: .*\nhint: `));
      expect(code).toBe(2);
    } finally {
      other.close();
    }
  });
});

describe('output that cannot be written', () => {
  it.each([['--help'], ['status'], ['audit', 'export'], ['run', '--', 'echo', 'here']])(
    'reports unwritable output once: %s %s',
    async (...args) => {
      await hermetic.run(['run', '--', 'true']);
      const { code, stderr } = await run('exec "$@" > /dev/full', args);
      expect(stderr.match(/^error: .*$/gm)).toEqual(['error: Standard output cannot be written (ENOSPC).']);
      expect(stderr).toMatch(noStack);
      expect(code).toBe(1);
    },
  );

  it.each([['--help'], ['status'], ['run', '--', 'echo', 'here']])(
    'exits silently when the reader of its output has gone: %s %s',
    async (...args) => {
      const { code, stderr } = await run('exec > >(:); wait $!; exec "$@"', args);
      expect(stderr).not.toMatch(/error|node:/);
      expect(code).toBe(141);
    },
  );
});

describe('invalid arguments', () => {
  it.each([
    [['no-such-command'], /^error: unknown command 'no-such-command'\n+hint: hermetic --help lists the commands\n$/],
    [['run', 'ls', '-la'], /^error: unknown option '-la'\n+hint: .* hermetic run -- ls -la\n$/],
    [['run', '--cwd', '', '--', 'pwd'], /^error: .*'--cwd.* Expected a directory\./],
    [['mcp', '--session', ' '], /^error: .*'--session.* A session needs a name\./],
    [['code', '/nope.py'], /^error: \/nope\.py cannot be read: no such file or directory\.\n$/],
    [['pairing', 'revoke', 'telegramm', '1'], /^error: telegramm is not a platform\. Did you mean telegram\?\nhint: /],
  ])('refuses an invalid argument in words: %j', async (args, says) => {
    const { code, stdout, stderr } = await hermetic.run(args);
    expect(stderr).toMatch(says);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('the help shows no default of {}', async () => {
    expect((await hermetic.run(['run', '--help'])).stdout).not.toContain('{}');
  });

  it.each(['abc', '0'])('explains an invalid argument: audit show %s', async (seq) => {
    const { code, stderr } = await hermetic.run(['audit', 'show', seq]);
    expect(stderr).toMatch(/^error: .*'seq'.* Expected a number of at least 1\.\n/);
    expect(code).toBe(2);
  });
});

/** The program, started by a line of bash that may change what it finds. */
async function run(line: string, args: readonly string[]) {
  const child = spawn('bash', ['-c', line, '-', process.execPath, bin, ...args], {
    env: hermetic.environment,
    cwd: hermetic.home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stdout.resume();
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}
