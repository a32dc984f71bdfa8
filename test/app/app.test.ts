import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type App, createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { assertSupported, configuredSpec } from '../../src/sandboxes/spec.ts';

const home = mkdtempSync(join(tmpdir(), 'hermetic-app-'));
afterAll(() => rm(home, { recursive: true }));

function appWith(environment: Record<string, string> = {}): App {
  return createApp({ environment: { HERMETIC_HOME: home, ...environment }, workingDirectory: '/somewhere' });
}

function specOf(app: App, kind: string, request: { image?: string } = {}) {
  const notices: string[] = [];
  const [backend] = app.candidates(kind);
  if (!backend) throw new Error(kind);
  const spec = configuredSpec(app.deps, { ...cliSession('x'), ...request }, backend, {
    notice: (text) => notices.push(text),
    progress: () => undefined,
  });
  return { spec, backend, notices };
}

describe('the choice of a backend', () => {
  it('auto never chooses a backend without isolation', () => {
    expect(
      appWith()
        .candidates('auto')
        .map(({ traits }) => traits.isolation),
    ).not.toContain('none');
  });

  it('an unknown backend name is refused with the list of valid names', () => {
    const attempt = () => appWith().candidates('bubblewarp');
    expect(attempt).toThrow(
      expect.objectContaining({ code: 'backend/unknown', message: expect.stringContaining('did you mean bubblewrap?') }),
    );
    expect(attempt).toThrow(expect.objectContaining({ hint: expect.stringContaining('kubernetes') }));
  });
});

describe('the spec of a sandbox', () => {
  it('the sandbox spec follows the configuration', () => {
    const app = appWith({
      TERMINAL_DOCKER_IMAGE: 'debian:12',
      TERMINAL_CONTAINER_CPU: '2',
      TERMINAL_CONTAINER_MEMORY: '512',
      TERMINAL_CONTAINER_PIDS: '99',
      TERMINAL_NETWORK: 'none',
      TERMINAL_DOCKER_VOLUMES: '["/srv/data:/data:ro"]',
      TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE: 'true',
      TERMINAL_DOCKER_FORWARD_ENV: '["WANTED"]',
      TERMINAL_CONTAINER_PERSISTENT: 'false',
      WANTED: 'value',
      UNWANTED: 'other',
    });
    expect(specOf(app, 'docker').spec).toMatchObject({
      image: 'debian:12',
      limits: { cpus: 2, memoryMb: 512, pids: 99 },
      network: 'none',
      env: { WANTED: 'value' },
      persistent: false,
      mounts: [
        { source: '/srv/data', target: '/data', readOnly: true },
        { source: '/somewhere', target: '/workspace', readOnly: false },
      ],
    });
    expect(specOf(app, 'docker', { image: 'other' }).spec.image).toBe('other');
  });

  it('the sandbox spec is the same after a restart', () => {
    expect(specOf(appWith(), 'docker').spec).toEqual(specOf(appWith(), 'docker').spec);
  });

  it('keeps a credential out of the sandbox spec and names it in a notice', () => {
    const app = appWith({ TERMINAL_ENV_PASSTHROUGH: '["API_TOKEN"]', API_TOKEN: 'x' });
    const { spec, notices } = specOf(app, 'bubblewrap');
    expect(spec.env).toEqual({});
    expect(notices.join()).toMatch(/API_TOKEN.*docker_forward_env/);
  });

  it.each([
    ['bubblewrap', { TERMINAL_DOCKER_RUN_AS_HOST_USER: 'true' }, {}],
    ['bubblewrap', {}, { image: 'debian' }],
    ['local', { TERMINAL_NETWORK: 'none' }, {}],
  ])('%s refuses an option it does not support: %j %j', (kind, environment, request) => {
    const { backend, spec } = specOf(appWith(environment as Record<string, string>), kind, request);
    expect(() => assertSupported(backend, spec)).toThrow(expect.objectContaining({ code: 'backend/cannot-honour' }));
  });

  it.each([
    ['docker', '.', '/workspace'],
    ['docker', '~/x/', '/root/x'],
    ['bubblewrap', 'a/../b', '/workspace/b'],
    ['bubblewrap', '~', '/home/agent'],
    ['local', '.', '/somewhere'],
    ['local', 'deep', '/somewhere/deep'],
  ])('on %s terminal.cwd %s becomes %s', (kind, cwd, expected) => {
    const { backend, spec } = specOf(appWith({ TERMINAL_CWD: cwd }), kind);
    expect(backend.places(spec).workdir).toBe(expected);
  });
});

describe('the installation', () => {
  it('keeps its installation id over restarts', () => {
    expect(appWith().installation).toBe(appWith().installation);
    expect(appWith().installation).toMatch(/^[0-9a-f]{16}$/);
  });

  it('refuses a damaged installation id instead of making a new one', () => {
    const app = appWith();
    const { installation } = app;
    writeFileSync(join(home, 'installation'), 'oops');
    expect(() => appWith().installation).toThrow(/installation id/);
    writeFileSync(join(home, 'installation'), installation);
  });
});
