import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import type { OpenSandbox, SandboxSpec } from '../../src/core/sandbox.ts';
import { proofText, prove } from '../../src/proof/index.ts';
import { putFile } from '../../src/tools/files/put-file.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { collect, sleepers, sleepMark, untilAsleep, useRig } from '../contracts/sandbox/rig.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend, type TestEngine, withDocker } from '../engines.ts';
import { startRelay } from '../relay.ts';
import { until } from '../until.ts';
import { containerTests } from './engine/session-container.ts';

/** The same engine by a port: nothing tells that it shares this kernel, so every shell is reached by its streams. */
const relay = await startRelay('/var/run/docker.sock');

const variant = {
  title: 'docker by streams',
  docker: { docker_host: relay.host },
  // The engine, its shim, the relay and the kernel's sockets between them each hold some of what was printed.
  maxBytesAhead: 32 * 1024 * 1024,
};

await describeBackend(
  'docker',
  (engine) => {
    sandboxContract(engine);
    describe('the container of a session', () => containerTests(engine));
    describe('a remote engine', () => remoteTests(engine));
  },
  variant,
);

/** How many commands the engine was asked to start. */
function execs(): number {
  return relay.requests.filter((request) => /^POST .*\/exec\/\w+\/start/.test(request)).length;
}

const listProcesses = 'for file in /proc/[0-9]*/cmdline; do tr "\\0" " " <$file; echo; done';

/** The number of its program for each supervisor: no other process has this line, which follows that of the script. */
function supervisorsIn(list: string): string[] {
  return list.split('\n').flatMap((line) => /^ hermetic (\d+) $/.exec(line)?.[1] ?? []);
}

function remoteTests(engine: TestEngine): void {
  const rig = useRig(engine);

  it('writes received files inside when the engine shares no directory with this machine', async () => {
    expect(await engine.backend.received(engine.spec())).toBeUndefined();
    const path = await putFile(rig.sandbox, 'notes.txt', Buffer.from('some notes'));
    expect(await rig.output('cat "$1"; stat -c %a "$1"', { args: [path] })).toBe('some notes444\n');
  });

  it('lets a background process print for as long as it wants', async () => {
    // For longer than an engine waits for the streams of a process that has ended, and more than a pipe holds.
    const print = `echo ${'x'.repeat(3000)}; echo ${'y'.repeat(3000)} >&2`;
    await rig.output(`{ for ((i = 0; i < 60; i++)); do ${print}; sleep 0.05; done; echo all >printed; } & echo $! >printer`);
    await until('it has ended', async () => !(await rig.succeeds('kill -0 "$(<printer)"')));
    expect(await rig.output('cat printed')).toBe('all\n');
  });

  it('loses and kills the commands of a cut connection, and keeps the sandbox', async () => {
    const mark = sleepMark();
    await rig.output('export KEPT=1; sleep 1000 & echo $! >background');
    const handle = await rig.start(`setsid sleep ${mark} & sleep ${mark}`);
    await untilAsleep(rig.sandbox, mark, 2);
    relay.cut();
    expect(await handle.exit).toMatchObject({ kind: 'lost' });
    await until('its processes are dead', async () => (await sleepers(rig.sandbox, mark)) === 0);
    expect(await rig.output('kill -0 "$(<background)" && echo "$KEPT"')).toBe('1\n');
    expect(await Promise.race([rig.sandbox.ended, Promise.resolve('not ended')])).toBe('not ended');
  });

  it('kills a command after an earlier one killed the process that signals for the host', async () => {
    await rig.output(`for limits in /proc/[0-9]*/limits; do if grep -q ' 70000001 ' $limits; then kill -9 \${limits//[!0-9]/}; fi; done`);
    const mark = sleepMark();
    const handle = await rig.start(`setsid sleep ${mark} & sleep ${mark}`);
    await untilAsleep(rig.sandbox, mark, 2);
    await handle.kill('KILL');
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
  });

  /** No others than these are needed for the next commands. */
  const untilFewSupervise = (sandbox: OpenSandbox): Promise<unknown> =>
    until('few supervisors are left', async () => {
      const { stdout } = await collect(await sandbox.exec({ command: listProcesses }));
      return supervisorsIn(stdout).length <= 3;
    });

  it('carries command after command on the same two streams', async () => {
    const sandbox = await engine.open(engine.spec());
    await collect(await sandbox.exec({ command: 'true' }));
    await collect(await sandbox.exec({ command: 'sleep 0.1' }));
    const before = execs();
    for (let round = 0; round < 20; round += 1) {
      const { stdout, exit } = await collect(await sandbox.exec({ command: `echo ${round}; exit ${round}` }));
      expect([stdout, exit]).toEqual([`${round}\n`, { kind: 'exited', code: round }]);
    }
    expect(execs() - before).toBeLessThanOrEqual(1);
    await sandbox.destroy();
  });

  it('keeps what an earlier command prints in the background out of the output of the next ones', async () => {
    const sandbox = await engine.open(engine.spec());
    await collect(await sandbox.exec({ command: '(while sleep 0.01; do echo noise; echo noise >&2; done) & echo $! >printer' }));
    for (let round = 0; round < 10; round += 1) {
      expect(await collect(await sandbox.exec({ command: 'echo text; sleep 0.02' }))).toMatchObject({ stdout: 'text\n', stderr: '' });
    }
    expect((await collect(await sandbox.exec({ command: 'kill "$(<printer)"' }))).exit).toEqual({ kind: 'exited', code: 0 });
    await sandbox.destroy();
  });

  it('runs a command after one that left its input unread, and after one that was killed', async () => {
    const sandbox = await engine.open(engine.spec());
    const deaf = await sandbox.exec({ command: 'echo deaf', stdin: 'open' });
    await deaf.write('echo this is input and no command\n'.repeat(1000));
    expect(await collect(deaf)).toMatchObject({ stdout: 'deaf\n' });
    const killed = await sandbox.exec({ command: 'yes' });
    await killed.kill('KILL');
    for (let round = 0; round < 5; round += 1) expect((await collect(await sandbox.exec({ command: 'echo ok' }))).stdout).toBe('ok\n');
    await sandbox.destroy();
  });

  it('leaves no process behind for a command whose output was taken or is not wanted', async () => {
    const sandbox = await engine.open(engine.spec());
    const several = Array.from({ length: 8 }, async (_, index) => collect(await sandbox.exec({ command: `sleep 0.2; echo ${index}` })));
    expect((await Promise.all(several)).map(({ stdout }) => stdout)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((index) => `${index}\n`));
    for await (const _ of (await sandbox.exec({ command: 'head -c 100000 /dev/zero' })).output) break;
    await (await sandbox.exec({ command: 'yes' })).kill('KILL');
    await untilFewSupervise(sandbox);
    await sandbox.destroy();
  });

  it('leaves no process behind for the unread output of a program that was killed', async () => {
    const spec = engine.spec();
    // More than the program takes without being asked, and less than fits on the way.
    const client = await engine.startClient({ spec, action: 'start', commands: ['head -c 3000000 /dev/zero'] });
    await client.kill();
    const sandbox = await engine.open(spec);
    await untilFewSupervise(sandbox);
    await sandbox.destroy();
  });

  it('leaves no process behind in the container of a session for which the program was started again and again', async () => {
    const hermetic = new Hermetic({
      TERMINAL_ENV: 'docker',
      TERMINAL_DOCKER_IMAGE: engine.context.docker.image,
      TERMINAL_NETWORK: 'none',
      TERMINAL_DOCKER_HOST: relay.host,
    });
    onTestFinished(async () => {
      await hermetic.run(['sandbox', 'destroy', 'default']);
      await removeTree(hermetic.home);
    });
    const run = async (command: string): Promise<string> => {
      const { code, stdout, stderr } = await hermetic.run(['run', '--', command]);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    for (let round = 0; round < 8; round += 1) expect(await run('echo text')).toBe('text\n');
    await Promise.all(Array.from({ length: 8 }, () => run('echo text')));
    // Each program has a number of its own, and the one that looks has it too.
    await until('only its own supervisors are left', async () => new Set(supervisorsIn(await run(listProcesses))).size === 1);
  });

  it('hides its own scripts from the list of processes', async () => {
    const lines = (await rig.output('for file in /proc/[0-9]*/cmdline; do tr "\\0" " " <$file; echo; done')).split('\n');
    expect(lines.filter((line) => line.includes('hermetic')).length).toBeGreaterThan(1);
    for (const line of lines.filter((one) => !one.includes('step='))) expect(line.length).toBeLessThan(400);
  });

  it('keeps workspace and home in volumes that are removed with the sandbox', async () => {
    const spec = engine.spec();
    const sandbox = await engine.open(spec);
    await collect(await sandbox.exec({ command: 'echo kept >file; echo kept >~/file' }));
    const { HostConfig } = await inspect(engine, spec);
    expect(HostConfig.Binds ?? []).toEqual([]);
    expect(HostConfig.Mounts.map(({ Type, Source }) => [Type, Source])).toEqual([
      ['volume', `hermetic-${spec.name}-workspace`],
      ['volume', `hermetic-${spec.name}-home`],
    ]);
    await withDocker(engine.context, (docker) => docker.remove(`hermetic-${spec.name}`));
    await sandbox.close();
    const again = await engine.open(spec);
    expect((await collect(await again.exec({ command: 'cat file ~/file' }))).stdout).toBe('kept\nkept\n');
    await again.destroy();
    await expect(volume(engine, `hermetic-${spec.name}-workspace`)).rejects.toMatchObject({ cause: expect.anything() });
    await expect(volume(engine, `hermetic-${spec.name}-home`)).rejects.toMatchObject({ cause: expect.anything() });
  });

  it('proves isolation with its own volumes, and fails with those of another sandbox', async () => {
    const hermeticHome = mkdtempSync(join(tmpdir(), 'hermetic-proof-home-'));
    onTestFinished(() => rmSync(hermeticHome, { recursive: true }));
    const [spec, other] = [engine.spec(), engine.spec()];
    const [sandbox, second] = await Promise.all([engine.open(spec), engine.open(other)]);
    const common = { sandbox, backend: engine.backend, hermeticHome, engineSockets: ['/var/run/docker.sock'] };
    const proof = await prove({ ...common, spec, sibling: { spec: other, sandbox: second } });
    const unsure = proof.lines.filter(({ verdict }) => verdict === 'broken' || verdict === 'unknown');
    expect(unsure, proofText(proof)).toEqual([]);
    const mistaken = await prove({ ...common, spec: { ...spec, name: other.name } });
    expect(mistaken.lines.filter(({ verdict }) => verdict === 'broken').map(({ check }) => check)).toEqual(['writable-mounts']);
    await Promise.all([sandbox.destroy(), second.destroy()]);
  });

  it('gives the volumes to the host user when the sandbox runs as that user', async () => {
    const users = [vi.spyOn(process, 'getuid').mockReturnValue(1234), vi.spyOn(process, 'getgid').mockReturnValue(1235)];
    const sandbox = await engine.open(engine.spec({ user: 'host' })).finally(() => users.forEach((user) => void user.mockRestore()));
    const { stdout, exit } = await collect(await sandbox.exec({ command: 'touch file ~/file && id -u && stat -c %u . ~ file' }));
    expect(exit).toEqual({ kind: 'exited', code: 0 });
    expect(stdout).toBe('1234\n'.repeat(4));
    await sandbox.destroy();
  });
}

interface Inspected {
  HostConfig: { Binds: string[] | null; Mounts: { Type: string; Source: string }[] };
}

function inspect(engine: TestEngine, { name }: SandboxSpec): Promise<Inspected> {
  return withDocker(engine.context, (docker) => docker.request<Inspected>('GET', `/containers/hermetic-${name}/json`));
}

function volume(engine: TestEngine, name: string): Promise<unknown> {
  return withDocker(engine.context, (docker) => docker.request('GET', `/volumes/${name}`));
}
