import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp, createSandboxes, type SessionKey } from '../../src/index.ts';
import { SessionSandboxes } from '../../src/sandboxes/session-sandboxes.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';

await describeBackend('bubblewrap', () => {
  const root = mkdtempSync(join(tmpdir(), 'hermetic-sessions-'));
  const opened: SessionSandboxes[] = [];
  let count = 0;
  function sandboxesWith(environment: Record<string, string> = {}, home = `home-${count++}`): SessionSandboxes {
    const path = join(root, home);
    mkdirSync(path, { recursive: true });
    const base = { PATH: process.env.PATH ?? '', HOME: root, HERMETIC_HOME: path, TERMINAL_ENV: 'bubblewrap', TERMINAL_NETWORK: 'none' };
    const sandboxes = createSandboxes({ environment: { ...base, ...environment } });
    opened.push(sandboxes);
    return sandboxes;
  }
  afterAll(async () => {
    for (const sandboxes of opened) await sandboxes.close();
    await removeTree(root);
  });
  const chat = (user: string, thread?: string): SessionKey => ({ platform: 'telegram', workspace: undefined, chat: '7', thread, user });

  it('runs commands by session, finds files and state again, and lists the sandboxes', async () => {
    const first = sandboxesWith({}, 'again');
    const result = await first.run('alice', 'echo out; echo err >&2; export KEPT=1; exit 3');
    expect(result).toEqual({ end: { kind: 'exited', code: 3 }, stdout: 'out\n', stderr: 'err\n', isCut: false, troubles: [], blocked: [] });
    await first.of('alice').writeFile('notes', 'kept');
    expect((await first.run('bob', 'ls; echo "$KEPT"')).stdout).toBe('\n');
    await first.close();

    const second = sandboxesWith({}, 'again');
    expect((await second.run('alice', 'cat notes; echo " $KEPT"')).stdout).toBe('kept 1\n');
    const listed = (await second.list()).map(({ session, state, backend }) => ({ session, state, backend }));
    expect(listed).toEqual([
      { session: ['named', 'alice'], state: 'open', backend: 'bubblewrap' },
      { session: ['named', 'bob'], state: 'closed', backend: 'bubblewrap' },
    ]);
    await second.of('alice').destroy();
    expect((await second.list()).map(({ session }) => session[1])).toEqual(['bob']);
  });

  it('drops output beyond the limit, and a timeout or an abort ends the command', async () => {
    const sandboxes = sandboxesWith();
    const long = await sandboxes.run('a', 'head -c 300000 /dev/zero | tr "\\0" x; echo; echo end >&2', { maxBytes: 1000 });
    expect(long).toMatchObject({ end: { kind: 'exited', code: 0 }, stdout: 'x'.repeat(1000), stderr: 'end\n', isCut: true });
    expect((await sandboxes.run('a', 'sleep 60', { timeoutMs: 200 })).end).toEqual({ kind: 'timeout', afterMs: 200 });
    const controller = new AbortController();
    const running = sandboxes.run('a', 'sleep 60', { signal: controller.signal });
    controller.abort();
    expect((await running).end).toEqual({ kind: 'interrupted' });
  });

  it('conversations share a sandbox according to the scope', async () => {
    const apart = sandboxesWith({ HERMETIC_GATEWAY_SANDBOX_SCOPE: 'session' });
    await apart.run(chat('ann'), 'touch /workspace/mine');
    expect((await apart.run(chat('ben'), 'ls /workspace')).stdout).toBe('');
    expect((await apart.run(chat('ann'), 'ls /workspace')).stdout).toBe('mine\n');
    const together = sandboxesWith({ HERMETIC_GATEWAY_SANDBOX_SCOPE: 'chat' });
    await together.run(chat('ann', 't1'), 'touch /workspace/ours');
    expect((await together.run(chat('ben', 't2'), 'ls /workspace')).stdout).toBe('ours\n');
  });

  it('a session over gateway.max_sandboxes waits and is notified, and gateway.sandbox_lifetime closes idle sandboxes', async () => {
    const sandboxes = sandboxesWith({ HERMETIC_GATEWAY_MAX_SANDBOXES: '1', HERMETIC_GATEWAY_SANDBOX_LIFETIME: '1' });
    const busy = await sandboxes.of('busy').exec({ command: 'read line', stdin: 'open' });
    const told: string[] = [];
    const waiting = sandboxes.of('waiting', { notice: (text) => told.push(text), progress: () => undefined }).open();
    await until('it waits', () => told.some((text) => text.includes('next in the queue')));
    busy.closeStdin();
    await waiting;
    expect(sandboxes.of('busy').isOpen).toBe(false);
    await until('it is reclaimed', () => !sandboxes.of('waiting').isOpen);
  });

  it('a start removes the remains of a crash and keeps the files of sessions', async () => {
    const sandboxes = sandboxesWith({}, 'swept');
    await sandboxes.run('alice', 'echo mine > file');
    await sandboxes.of('alice').close();
    mkdirSync(join(root, 'swept', 'sandboxes', 'bubblewrap', 'half-made', 'workspace'), { recursive: true });
    expect((await sandboxes.start()).map(({ name, why }) => [name, why])).toEqual([['half-made', 'belongs to no session']]);
    expect((await sandboxes.run('alice', 'cat file')).stdout).toBe('mine\n');
  });

  it('the first command follows settings that change while its sandbox opens', async () => {
    const path = join(root, 'changing');
    mkdirSync(path);
    const colour = (name: string) => {
      const environment = {
        PATH: process.env.PATH ?? '',
        HOME: root,
        HERMETIC_HOME: path,
        TERMINAL_ENV: 'bubblewrap',
        TERMINAL_NETWORK: 'none',
      };
      return createApp({ environment: { ...environment, TERMINAL_DOCKER_ENV: JSON.stringify({ COLOUR: name }) } });
    };
    const app = colour('green');
    const { loaded } = colour('blue');
    const changing = new SessionSandboxes({ ...app.deps, onOpened: () => app.apply(loaded) }, () => app.close());
    opened.push(changing);
    expect((await changing.run('a', 'echo "$COLOUR"')).stdout).toBe('blue\n');
    await changing.stop();
  });
});
