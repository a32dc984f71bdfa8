import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findSandboxStatus, sandboxStatusLines } from '../../src/app/status/sandbox-status.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { type App, createApp } from '../../src/index.ts';
import { describeBackend } from '../engines.ts';

await describeBackend('bubblewrap', () => {
  const home = mkdtempSync(join(tmpdir(), 'hermetic-sandbox-status-'));
  const apps: App[] = [];
  const linesOf = async (environment: Record<string, string>): Promise<string> => {
    const app = createApp({ environment: { PATH: process.env.PATH ?? '', HOME: home, HERMETIC_HOME: home, ...environment } });
    apps.push(app);
    return sandboxStatusLines(app, await findSandboxStatus(app, 'messaging')).join('\n');
  };
  afterAll(async () => {
    for (const app of apps) await app.close();
    await removeTree(home);
  });

  it('the start message names backend, network, limits, scope and lifetime, and no secret', async () => {
    const text = await linesOf({
      HERMETIC_GATEWAY_TERMINAL_BACKEND: 'bubblewrap',
      HERMETIC_GATEWAY_SANDBOX_SCOPE: 'user',
      HERMETIC_GATEWAY_SANDBOX_LIFETIME: '120',
      HERMETIC_GATEWAY_MAX_SANDBOXES: '7',
      TERMINAL_WARM_SPARES: '2',
      TERMINAL_NETWORK: 'none',
      TERMINAL_CONTAINER_MEMORY: '512',
      TERMINAL_CONTAINER_DISK: '0',
      TERMINAL_DOCKER_ENV: '{"API_TOKEN":"planted-secret"}',
      TERMINAL_DOCKER_FORWARD_ENV: '["OTHER"]',
      OTHER: 'planted-secret',
    });
    expect(text).toMatch(/^Chat sessions run in bubblewrap sandboxes \(backend bubblewrap, isolation: kernel namespaces\)\.\n/);
    expect(text).toContain('network none');
    expect(text).toMatch(/limits: 1 cpu\b.*512 MB memory.*no limit of MB disk, 256 processes/);
    expect(text).toContain('one for each user, at most 7 at once, closed after 2 min idle; 2 warm spares');
    expect(text).not.toContain('planted-secret');
  });

  it('the start message without isolation mentions no proof', async () => {
    expect(await linesOf({ TERMINAL_ENV: 'local' })).not.toContain('containment');
    expect(await linesOf({ TERMINAL_ENV: 'bubblewrap' })).toContain('containment not tried yet');
  });

  it('the start message without isolation speaks of no sandbox for each session', async () => {
    const text = await linesOf({ TERMINAL_ENV: 'local' });
    expect(text).toContain('sandboxes: none; a shell and a directory for each session');
  });

  it('the error about an unsupported option names the reason why docker was passed over', async () => {
    const lines = linesOf({ TERMINAL_DOCKER_HOST: `unix://${home}/no-engine.sock`, HERMETIC_GATEWAY_SANDBOX_IMAGE: 'debian:13' });
    await expect(lines).rejects.toThrow(/bubblewrap .*has no image\. docker cannot be used: .*no-engine\.sock/);
  });

  it('the start message gives the reason when nothing can run', async () => {
    const text = await linesOf({ TERMINAL_ENV: 'docker', TERMINAL_DOCKER_HOST: `unix://${home}/no-engine.sock` });
    expect(text).toMatch(/^Chat sessions cannot run: no sandbox backend works here \(backend docker\)\.\nnot docker: \w/);
  });
});
