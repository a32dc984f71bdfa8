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

  it('what a start says names backend, network, limits, scope and lifetime, and nothing that is secret', async () => {
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

  it('a start on the machine itself speaks of no proof', async () => {
    expect(await linesOf({ TERMINAL_ENV: 'local' })).not.toContain('containment');
    expect(await linesOf({ TERMINAL_ENV: 'bubblewrap' })).toContain('containment not tried yet');
  });

  it('what the backend that is left cannot do is said with the reason why it is left', async () => {
    const lines = linesOf({ TERMINAL_DOCKER_HOST: `unix://${home}/no-engine.sock`, HERMETIC_GATEWAY_SANDBOX_IMAGE: 'debian:13' });
    await expect(lines).rejects.toThrow(/bubblewrap .*has no image\. docker cannot be used: .*no-engine\.sock/);
  });

  it('a start that cannot run anything says why', async () => {
    const text = await linesOf({ TERMINAL_ENV: 'docker', TERMINAL_DOCKER_HOST: `unix://${home}/no-engine.sock` });
    expect(text).toMatch(/^Chat sessions cannot run: no sandbox backend works here \(backend docker\)\.\nnot docker: \w/);
  });
});
