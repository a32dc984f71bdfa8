import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { runDirectoryInside } from '../../src/backends/engine/container.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { SessionSandboxes } from '../../src/sandboxes/session-sandboxes.ts';
import { sweep } from '../../src/sandboxes/sweep.ts';
import { bin } from '../bin.ts';
import { describeBackend, type Variant } from '../engines.ts';
import { describeNeeding } from '../needs.ts';
import { startRelay } from '../relay.ts';
import { until } from '../until.ts';

const client = fileURLToPath(new URL('./lease-client.ts', import.meta.url));
/** As in a second container: other processes, and a /proc that shows them only. */
const elsewhere = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const longMs = 60_000;
const shortMs = 1_500;
const relay = await startRelay('/var/run/docker.sock');
afterAll(() => relay.close());

const variants: (Variant & { kind: string; host?: string })[] = [
  { kind: 'bubblewrap', title: 'bubblewrap' },
  { kind: 'docker', title: 'docker' },
  { kind: 'docker', title: 'docker by streams', docker: { docker_host: relay.host }, host: relay.host },
];

interface Line {
  name?: string;
  directory?: string;
  output?: string;
  notice?: string;
  exit?: unknown;
}

interface Program {
  name: string;
  directory: string;
  child: ChildProcess;
  lines: readonly Line[];
  /** Runs a command in its sandbox. */
  run(command: string): Promise<string | undefined>;
  kill(): Promise<void>;
}

describeNeeding(['processes'], 'two programs in different process namespaces', async () => {
  for (const { kind, host, ...variant } of variants) {
    await describeBackend(kind, ({ context }) => namespaceTests(kind, context.docker.image, host), variant);
  }
});

function namespaceTests(kind: string, image: string, host: string | undefined): void {
  const home = mkdtempSync(join(tmpdir(), `hermetic-lease-${kind}-`));
  const environment: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
    HOME: home,
    HERMETIC_HOME: join(home, '.hermetic'),
    TERMINAL_ENV: kind,
    TERMINAL_DOCKER_IMAGE: image,
    TERMINAL_NETWORK: 'none',
    TERMINAL_LIFETIME_SECONDS: '20',
    ...(host === undefined ? {} : { DOCKER_HOST: host }),
  };
  const app = createApp({ environment });
  const backend = () => app.candidates(kind)[0] ?? expect.fail(kind);
  const sweepHere = async () => (await sweep({ backends: [backend()], ledger: (await app.store()).sandboxes })).map(({ name }) => name);
  const cli = async (wrapper: readonly string[], ...args: string[]) => {
    const [program = '', ...rest] = [...wrapper, process.execPath, bin, ...args];
    return await promisify(execFile)(program, rest, { env: environment });
  };

  afterAll(async () => {
    for (const left of await backend().list()) await left.destroy();
    await app.close();
    await removeTree(home);
  });

  async function start(session: string, leaseMs: number, wrapper: readonly string[] = []): Promise<Program> {
    const [program = '', ...rest] = [...wrapper, process.execPath, client, kind, session, String(leaseMs)];
    const child = spawn(program, rest, { env: environment, stdio: ['pipe', 'pipe', 'inherit'] });
    // Also the one that `unshare` started has ended then.
    const ended = once(child, 'close');
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await ended;
    };
    onTestFinished(kill);
    const lines: Line[] = [];
    createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line)));
    const opened = await until('it has its sandbox open', () => lines.find(({ name }) => name !== undefined));
    const { name = '', directory = '' } = opened;
    const run = async (command: string): Promise<string | undefined> => {
      const before = lines.length;
      child.stdin.write(`${command}\n`);
      return (await until('the command has run', () => lines.slice(before).find(({ exit }) => exit !== undefined))).output;
    };
    return { name, directory, child, lines, run, kill };
  }

  /** Outside of a transaction, within which it would hold up every program that uses the store. */
  async function freeze({ child }: Program): Promise<void> {
    const { sandboxes } = await app.store();
    await until('it is frozen', async () => {
      child.kill('SIGSTOP');
      const canWrite = await sandboxes.forget({ backend: kind, name: 'none' }).then(
        () => true,
        () => false,
      );
      if (!canWrite) child.kill('SIGCONT');
      return canWrite;
    });
  }

  const attachments = ({ directory }: Program) => readdirSync(join(directory, 'run')).filter((name) => /^[0-9a-f]+-\d+-/.test(name));

  for (const [where, ours, theirs] of [
    ['an inner one', [], elsewhere],
    ['the outer one', elsewhere, []],
    ['another inner one', elsewhere, elsewhere],
  ] as const) {
    it(`a program in ${where} neither sweeps nor stops the sandbox of a living program, and leaves its commands and its directory`, async () => {
      const session = `held by ${where}`;
      const program = await start(session, longMs, ours);
      const before = attachments(program);
      expect(before).toHaveLength(1);
      expect((await cli(theirs, 'sandbox', 'prune', '--older-than', '0s')).stdout).not.toContain(session);
      const shown = JSON.parse((await cli(theirs, 'sandbox', 'show', session, '--json')).stdout);
      expect(shown).toMatchObject({ name: program.name, state: 'running', leaseUntil: expect.any(String) });
      expect(attachments(program)).toEqual(before);
      expect(await program.run('until pgrep -fx "sleep 1000" >/dev/null; do :; done; echo both run')).toBe('both run\n');
      expect(program.lines.filter(({ exit, output }) => exit !== undefined && output === undefined)).toEqual([]);
      await program.kill();
    });
  }

  it('a program in another namespace does not stop a sandbox that is in use', async () => {
    const program = await start('in-use', longMs, elsewhere);
    const before = attachments(program);
    const listed = (await backend().list()).find(({ name }) => name === program.name) ?? expect.fail('it is not listed');
    expect(await listed.stop(true)).toBe(false);
    expect(attachments(program)).toEqual(before);
    expect(await program.run('echo still here')).toBe('still here\n');
  });

  if (kind === 'docker' && host === undefined) {
    it('a process inside that keeps the pipes of a killed program open does not pass for that program', async () => {
      const program = await start('pretender', longMs, elsewhere);
      await program.run(`for pipe in ${runDirectoryInside}/*/alive; do setsid sleep 1000 3<>"$pipe" & done`);
      await program.kill();
      const listed = (await backend().list()).find(({ name }) => name === program.name) ?? expect.fail('it is not listed');
      expect(await listed.stop(true)).toBe(true);
    });
  }

  if (kind === 'bubblewrap') {
    it('a program in another namespace leaves a sandbox that it cannot end, and a frozen program goes on with it', async () => {
      const program = await start('frozen', shortMs);
      await freeze(program);
      const { sandboxes } = await app.store();
      await until('its lease is over', async () => {
        return (await sandboxes.find({ backend: kind, name: program.name }))?.leaseUntil === undefined;
      });
      await cli(elsewhere, 'sandbox', 'prune');
      await expect(cli(elsewhere, 'sandbox', 'destroy', 'frozen')).rejects.toThrow('open in a program that cannot be seen from here');
      program.child.kill('SIGCONT');
      expect(await program.run('echo goes on')).toBe('goes on\n');
      expect(attachments(program)).toHaveLength(1);
    });
  } else {
    it('a frozen program loses a sandbox that another namespace swept when its lease was over, and says so when it goes on', async () => {
      const program = await start('frozen', shortMs);
      await freeze(program);
      await until('it was swept', async () => {
        await cli(elsewhere, 'sandbox', 'prune');
        return !existsSync(program.directory);
      });
      program.child.kill('SIGCONT');
      await until('its command is lost', () => program.lines.some(({ exit }) => (exit as { kind?: string } | undefined)?.kind === 'lost'));
      await until('it says so', () => program.lines.some(({ notice }) => notice?.includes('another program removed it')));
    });
  }

  it('a program in another namespace sweeps the sandbox of a killed program when its lease is over', async () => {
    const program = await start('over', shortMs);
    await program.kill();
    await until('it was swept', async () => {
      await cli(elsewhere, 'sandbox', 'prune');
      return !existsSync(program.directory);
    });
    expect(await (await app.store()).sandboxes.find({ backend: kind, name: program.name })).toBeUndefined();
    expect((await backend().list()).map(({ name }) => name)).not.toContain(program.name);
  });

  it('a gateway that starts in another namespace than a killed one sweeps its sandbox when the lease is over', async () => {
    const program = await start('successor', shortMs, elsewhere);
    await program.kill();
    const sandboxes = new SessionSandboxes({ ...app.deps, leaseMs: shortMs }, async () => undefined);
    onTestFinished(() => sandboxes.stop());
    await sandboxes.start();
    await until('it was swept', () => !existsSync(program.directory));
  });

  it('a program in the same namespace sweeps the sandbox of a killed program at once, and one in another namespace does not', async () => {
    const program = await start('at-once', longMs);
    await program.kill();
    await cli(elsewhere, 'sandbox', 'prune');
    expect(existsSync(program.directory)).toBe(true);
    expect(await sweepHere()).toContain(program.name);
    expect(existsSync(program.directory)).toBe(false);
  });
}
