import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findSandboxStatus } from '../../src/app/status/sandbox-status.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { type App, createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { fakeEngine } from '../backends/engine/fake-engine.ts';
import { describeBackend } from '../engines.ts';

/** Port 1 of this machine: nobody listens there, so nothing leaves it. */
const missing = '127.0.0.1:1/hermetic/none:1';
const quiet = { notice: () => undefined, progress: () => undefined };

await describeBackend('docker', ({ context }) => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-choice-'));
  const hermeticHome = join(home, '.hermetic');
  const apps: App[] = [];
  const appWith = (environment: Record<string, string> = {}): App => {
    const { PATH = '', DOCKER_HOST = '' } = context.environment;
    const basis = { PATH, DOCKER_HOST, HOME: home, HERMETIC_HOME: hermeticHome, TERMINAL_DOCKER_IMAGE: context.docker.image };
    const app = createApp({ environment: { ...basis, ...environment } });
    apps.push(app);
    return app;
  };
  const withoutEngine = { TERMINAL_DOCKER_HOST: `unix://${home}/nowhere.sock` };
  const kept = {
    code: 'backend/not-running',
    message: expect.stringMatching(/nowhere\.sock.*The files of this session are on docker/),
    hint: expect.stringMatching(/Start it.*--backend/s),
  };
  afterAll(async () => {
    const [app] = apps;
    for (const remains of await (app?.candidates('docker')[0]?.list() ?? [])) await remains.destroy();
    for (const one of apps) await one.close();
    await removeTree(home);
  });

  it('refuses to move a session with files to another backend when its engine does not answer', async () => {
    const { sandbox } = await appWith().openSandbox(cliSession('work'), quiet);
    await sandbox.writeFile('/workspace/file', 'content');
    await sandbox.close();
    await expect(appWith(withoutEngine).openSandbox(cliSession('work'), quiet)).rejects.toMatchObject(kept);
    expect(existsSync(join(hermeticHome, 'sandboxes', 'bubblewrap'))).toBe(false);
    const { sandbox: again } = await appWith().openSandbox(cliSession('work'), quiet);
    expect(await again.readFile('/workspace/file')).toEqual(Buffer.from('content'));
    await again.destroy();
  });

  it('refuses to move the session of a chat, and continues when the engine is back', async () => {
    const before = appWith();
    await before.sandboxes.run('talk', 'echo content > file');
    await before.close();
    const meanwhile = appWith(withoutEngine);
    await expect(meanwhile.sandboxes.run('talk', 'ls')).rejects.toMatchObject(kept);
    await meanwhile.close();
    expect((await appWith().sandboxes.run('talk', 'ls')).stdout).toBe('file\n');
  });

  it.each([
    ['terminal.docker_image', { TERMINAL_DOCKER_IMAGE: missing }],
    ['gateway.sandbox_image', { HERMETIC_GATEWAY_SANDBOX_IMAGE: missing }],
  ])('reports an engine as unusable when the image of %s is missing and cannot be pulled', async (_, environment) => {
    const { backend, unusable } = await findSandboxStatus(appWith({ TERMINAL_ENV: 'docker', ...environment }), 'messaging');
    expect(backend).toBeUndefined();
    expect(unusable).toMatchObject([
      { backend: 'docker', reason: expect.stringContaining(`${missing} is not there and cannot be pulled`) },
    ]);
  });

  it('runs on the next backend when a restricted network is configured and the engine cannot restrict it', async () => {
    const told: string[] = [];
    await using fake = await fakeEngine({ 'GET /info': { status: 200, body: { OperatingSystem: 'Docker Desktop', Runtimes: {} } } });
    const app = appWith({ TERMINAL_DOCKER_HOST: `unix://${fake.path}`, TERMINAL_NETWORK: 'restricted' });
    const elsewhere = { notice: (text: string) => void told.push(text), progress: () => undefined };
    const { backend, spec, sandbox } = await app.openSandbox(cliSession('guarded'), elsewhere);
    expect([backend.kind, spec.network]).toEqual(['bubblewrap', 'restricted']);
    expect(told.join()).toMatch(/docker: .*virtual machine.* runs on bubblewrap instead/);
    await sandbox.destroy();
    const named = appWith({ TERMINAL_DOCKER_HOST: `unix://${fake.path}`, TERMINAL_NETWORK: 'restricted', TERMINAL_ENV: 'docker' });
    await expect(named.openSandbox(cliSession('named'), quiet)).rejects.toMatchObject({ code: 'backend/cannot-restrict' });
  });

  it('uses no other backend when a runtime is configured', async () => {
    const app = appWith({ ...withoutEngine, TERMINAL_DOCKER_RUNTIME: 'runsc' });
    await expect(app.openSandbox(cliSession('strong'), quiet)).rejects.toMatchObject({
      code: 'backend/not-running',
      message: expect.stringMatching(/nowhere\.sock.*terminal\.docker_runtime asks for runsc/),
    });
    expect(app.candidates('auto').map(({ kind }) => kind)).toEqual(['docker']);
    expect(app.candidates('bubblewrap').map(({ kind }) => kind)).toEqual(['bubblewrap']);
  });
});
