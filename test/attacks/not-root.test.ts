import { spawnSync } from 'node:child_process';
import { chownSync, globSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { describeContained } from '../gateway/contained.ts';
import { Program } from '../gateway/program.ts';
import { describeNeeding } from '../needs.ts';

/** Without an entry in /etc/passwd, as in many containers. */
const user = 61_234;
const neighbour = 61_235;
const as = (uid: number) => ({ uid, gid: uid, cwd: '/', encoding: 'utf8' }) as const;

describeNeeding(['another-user'], 'a user who is not root and has no name', () => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-not-root-'));
  beforeAll(() => chownSync(home, user, user));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const hermetic = (words: readonly string[], environment: Record<string, string> = {}) =>
    spawnSync(process.execPath, [bin, ...words], { ...as(user), env: { PATH: process.env.PATH, HOME: home, ...environment } });

  it('runs commands on the host as a user without a name', () => {
    const { status, stdout, stderr } = hermetic(['run', '--', 'id -u; echo "$USER"'], { TERMINAL_ENV: 'local' });
    expect([status, stdout], stderr).toEqual([0, `${user}\n${user}\n`]);
  });

  it('reports the local backend as usable to a user without a name', () => {
    const { stdout } = hermetic(['doctor']);
    expect(stdout).toMatch(/^local: usable/m);
  });

  it('makes all files for the user alone', () => {
    const root = join(home, '.hermetic');
    expect(lstatSync(root)).toMatchObject({ uid: user, gid: user });
    expect(lstatSync(root).mode & 0o077).toBe(0);
    for (const name of readdirSync(root)) expect([name, lstatSync(join(root, name)).uid]).toEqual([name, user]);
  });
});

describeContained('a gateway that is not root', () => {
  describeNeeding(['another-user'], 'started by root', async () => {
    const program = await Program.start({ backend: 'bubblewrap', user });
    afterAll(() => program.close());
    const status = (pid: number | string, name: string): string =>
      new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

    it('runs gateway and sandbox without privileges of root', async () => {
      expect([status(program.pid, 'Uid').split('\t')[1], status(program.pid, 'CapEff')]).toEqual([String(user), '0000000000000000']);
      const command =
        'echo "$(id -u) $(grep -c . /proc/self/uid_map)"; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; ls /proc | grep -c "^[0-9]"';
      program.model.script = inTurn(calls(['terminal', { command }]), says('Done.'));
      program.api.world.says({ text: 'look around' });
      await program.shows('Done.');
      const seen = program.model.requests.at(-1)?.last.text ?? '';
      expect(seen).toMatch(/^1000 1\nCapEff:\s0+\nCapBnd:\s0+\nNoNewPrivs:\s1\nSeccomp:\s2\n\d{1,2}\n(\[The directory .*\])?$/);
    });

    it('keeps the files of the gateway from other users', () => {
      const paths = globSync('**', { cwd: program.directory }).map((path) => join(program.directory, path));
      expect(paths.length).toBeGreaterThan(5);
      // What its sandboxes need for a moment may be gone already.
      for (const path of paths) expect([path, lstatSync(path, { throwIfNoEntry: false })?.uid ?? user]).toEqual([path, user]);
      expect([program.home, program.directory].map((path) => lstatSync(path).mode & 0o077)).toEqual([0, 0]);
    });

    /** PID, HOME and SANDBOX are filled in. What works prints something. */
    const attempts: Record<string, string> = {
      'read its database': 'cat HOME/.hermetic/state.db',
      'read its configuration': 'cat HOME/.hermetic/config.yaml',
      'read the token of the page': 'cat HOME/.hermetic/web-token',
      'list its home': 'ls HOME/.hermetic',
      'list what it made by a pattern': 'ls -d HOME/.hermetic/sandboxes/*/*',
      'read the workspace of a session': 'ls SANDBOX/workspace',
      'find the pipes of a session': 'ls SANDBOX/run',
      'put a file into a workspace': 'touch SANDBOX/workspace/x && echo done',
      'put a link in the place of its configuration': 'ln -sf /etc/passwd HOME/.hermetic/config.yaml && echo done',
      'make a file in its home': 'touch HOME/x && echo done',
      'remove its home': 'rm -rf HOME/.hermetic && echo done',
      'read its environment': 'cat /proc/PID/environ',
      'read its memory': 'head -c 1 /proc/PID/mem',
      'see its open files': 'ls /proc/PID/fd',
      'go through its root': 'ls /proc/PID/root/etc',
      'go through its directory': 'ls /proc/PID/cwd/',
      'signal it': 'kill -TERM PID && echo done',
      'stop it': 'kill -STOP PID && echo done',
      'change its limits': 'prlimit --pid PID --nofile=1 && echo done',
      'enter its namespaces': 'nsenter -t PID -m echo done',
      'connect to its socket':
        'python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect(\'HOME/.hermetic/gateway.sock\'); print(1)"',
      'connect to the socket of its terminal':
        'python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect(\'HOME/.hermetic/terminal.sock\'); print(1)"',
      'find its bot token in a list of processes': 'tr "\\0" " " </proc/PID/cmdline | grep -F TOKEN',
    };

    it.each(Object.entries(attempts))('another user of the machine cannot %s', (_what, attempt) => {
      const [sandbox = 'none'] = globSync('sandboxes/*/*', { cwd: program.directory });
      expect(sandbox).not.toBe('none');
      const text = attempt
        .replaceAll('PID', String(program.pid))
        .replaceAll('HOME', program.home)
        .replaceAll('SANDBOX', join(program.directory, sandbox))
        .replaceAll('TOKEN', program.api.token);
      const { stdout, status: code } = spawnSync('bash', ['-c', text], { ...as(neighbour), env: { PATH: process.env.PATH } });
      expect([stdout, code === 0]).toEqual(['', false]);
      expect(status(program.pid, 'State')).toMatch(/^[RSD]/);
    });

    it('answers after all these attempts', async () => {
      program.model.script = () => says('Still here.');
      program.api.world.says({ text: 'hello?' });
      await program.shows('Still here.');
    });
  });
});
