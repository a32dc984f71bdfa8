import { rm } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { Hermetic } from './hermetic.ts';

/** No engine, so that the answer is that of a backend that can never restrict a network. */
const hermetic = new Hermetic({
  TERMINAL_ENV: 'local',
  TERMINAL_NETWORK: 'restricted',
  DOCKER_HOST: 'unix:///nowhere/docker.sock',
  HERMETIC_WEB_PORT: '0',
});
afterAll(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

const why = 'The local backend cannot ';

it('doctor says why sessions do not open when their network cannot be restricted as configured', async () => {
  const { code, stdout } = await hermetic.run(['doctor']);
  expect(stdout).toContain(`network of chat sessions: Sessions do not open. ${why}`);
  expect(stdout).toContain(`network of the command line: Sessions do not open. ${why}`);
  expect(code).toBe(3);
  const { networks } = JSON.parse((await hermetic.run(['doctor', '--json'])).stdout) as { networks: unknown };
  expect(networks).toMatchObject({ cli: { backend: 'local', network: null }, messaging: { backend: 'local', network: null } });
});

it.each([['status'], ['start'], ['run', '--', 'true']])('%s says why a network cannot be restricted as configured', async (...args) => {
  const { code, stderr, stdout } = await hermetic.run(args);
  expect(stderr).toContain(why);
  expect(stdout).toBe('');
  expect(code).toBe(2);
});

it('config check warns of a network that cannot be restricted as configured, and of rules without effect', async () => {
  const environment = { HERMETIC_NETWORK_ALLOW: '["a.example", "10.1.2.3"]', HERMETIC_NETWORK_DENY: '["a.example"]' };
  const { code, stderr } = await hermetic.run(['config', 'check'], { environment });
  expect(stderr).toContain(why);
  expect(stderr).toContain('warning: network.allow: "a.example" allows nothing, because network.deny has "a.example".');
  expect(stderr).toContain('warning: network.allow: "10.1.2.3" is a private address, and network.private does not have it.');
  expect(code).toBe(0);
});
