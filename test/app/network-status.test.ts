import { describe, expect, it, vi } from 'vitest';
import {
  allowedHosts,
  findNetworkFacts,
  findNetworkStatus,
  networkFactsText,
  networkText,
  secretsInside,
} from '../../src/app/status/network-status.ts';
import { usableBackend } from '../../src/app/status/sandbox-status.ts';
import { egressRules } from '../../src/config/egress-rules.ts';
import { loadConfig } from '../../src/config/load.ts';
import { configSchema } from '../../src/config/schema.ts';
import type { Backend, Isolation } from '../../src/core/sandbox.ts';
import { EgressThread } from '../../src/egress/thread.ts';
import { type App, createApp } from '../../src/index.ts';
import { makeScratch } from '../config/scratch.ts';

/** With the parts that decide about the network. */
function backend(canRestrict: true | string, more: { open?: true | string; isolation?: Isolation } = {}): Backend {
  const { open = true, isolation = 'process' } = more;
  return {
    kind: 'toy',
    traits: { isolation, honours: { 'network-open': open, 'network-none': true } },
    canRestrict: async () => canRestrict,
  } as unknown as Backend;
}

const config = (network?: 'open' | 'none' | 'restricted', rules: object = {}) =>
  configSchema.parse({ terminal: { network }, network: rules });
const loadedWith = (network?: 'open' | 'none' | 'restricted', rules: object = {}) => ({ config: config(network, rules), environment: {} });
const reason = 'nsenter is not installed (apt-get install util-linux)';

describe('the network of sessions', () => {
  it('is restricted for chat sessions where the backend supports it, with the presets and the number of rules', async () => {
    const status = await findNetworkStatus(
      loadedWith(undefined, { allow: ['a.example'], deny: ['b.example'] }),
      'messaging',
      backend(true),
    );
    expect(status).toEqual({
      network: 'restricted',
      networkObstacle: undefined,
      networkWarning: undefined,
      networkRules: { presets: ['packages', 'git'], allow: 1, deny: 1, private: 0, secrets: [] },
    });
    expect(networkText(status)).toBe('restricted (presets packages, git, 1 rule of network.allow, 1 of network.deny)');
  });

  it('is open for the command line when nothing is configured, without a warning', async () => {
    expect(await findNetworkStatus(loadedWith(), 'cli', backend(reason))).toMatchObject({ network: 'open', networkWarning: undefined });
  });

  it('is open for chat sessions where the backend cannot restrict it, with the reason and what to do', async () => {
    const { network, networkWarning } = await findNetworkStatus(loadedWith(), 'messaging', backend(reason));
    expect(network).toBe('open');
    expect(networkWarning).toMatch(/^WARNING: Chat sessions have an open network/);
    expect(networkWarning).toContain(`${reason}. Solve that, or set terminal.network to open or none`);
  });

  it.each(['open', 'none'] as const)('is %s without a warning when that is configured', async (network) => {
    expect(await findNetworkStatus(loadedWith(network), 'messaging', backend(reason))).toMatchObject({
      network,
      networkWarning: undefined,
    });
  });

  it('has no warning of its own where nothing is contained, or where there is no network anyway', async () => {
    const local = backend(reason, { isolation: 'none' });
    expect((await findNetworkStatus(loadedWith(), 'messaging', local)).networkWarning).toBeUndefined();
    const unconnected = await findNetworkStatus(
      loadedWith(),
      'messaging',
      backend(reason, { open: 'no network: slirp4netns is not installed' }),
    );
    expect(unconnected).toMatchObject({
      network: 'none',
      networkWarning: undefined,
      networkObstacle: 'no network: slirp4netns is not installed',
    });
  });

  it.each(['messaging', 'cli'] as const)(
    'keeps sessions of %s from opening when it is configured to be restricted and cannot be',
    async (audience) => {
      await expect(findNetworkStatus(loadedWith('restricted'), audience, backend(reason))).rejects.toMatchObject({
        code: expect.stringMatching(/^backend\/cannot-/),
      });
      const facts = await findNetworkFacts(loadedWith('restricted'), audience, backend(reason));
      expect(facts).toMatchObject({ backend: 'toy', network: null, rules: null });
      expect(networkFactsText(facts)).toMatch(/^Sessions do not open\. The toy backend cannot .*: nsenter is not installed/);
    },
  );

  it('is told to the agent by presets and by the hosts of network.allow', () => {
    expect(allowedHosts(config('restricted', { presets: ['git'], allow: ['a.example', '*.b.example:8443'] }))).toEqual([
      'git hosts',
      'a.example',
      '*.b.example:8443',
    ]);
    expect(allowedHosts(config('restricted', { presets: [] }))).toEqual([]);
  });

  it('is told with the names of secrets, and which of them have no value', async () => {
    const secrets = { A: { hosts: ['a.example'], as: 'INSIDE' }, B: { hosts: ['b.example:8443'] }, C: { hosts: ['c.example'] } };
    const loaded = {
      config: configSchema.parse({ terminal: { network: 'restricted' }, network: { presets: [] }, secrets }),
      environment: { A: 'hunter2-hunter2', C: 'short' },
    };
    const facts = await findNetworkFacts(loaded, 'messaging', backend(true));
    expect(networkFactsText(facts)).toBe('restricted (no presets, 0 rules of network.allow; secrets A, B (no value), C (unusable value))');
    expect(JSON.stringify(facts)).not.toMatch(/hunter2|short/);
    expect(allowedHosts(loaded.config)).toEqual(['a.example:443', 'b.example:8443', 'c.example:443']);
    expect(secretsInside(loaded)).toEqual([{ variable: 'INSIDE', hosts: ['a.example:443'] }]);
  });

  it('is not told without a backend', async () => {
    expect(networkFactsText(await findNetworkFacts(loadedWith(), 'messaging', undefined))).toBe('no sandbox backend works here');
  });
});

describe('the backend that a status names', () => {
  const usable = { usable: true, summary: '', notes: [], limits: {} };
  const named = (kind: string, canRestrict: true | string) => ({ ...backend(canRestrict), kind, check: async () => usable });
  const appOf = (network: 'restricted' | undefined, candidates: object[]) =>
    ({
      loaded: loadedWith(network),
      settings: () => ({ backend: 'auto', imageFor: () => undefined }),
      candidates: () => candidates,
    }) as unknown as App;

  it('is the first that can restrict the network when that is configured, with the reason for the others', async () => {
    const candidates = [named('first', reason), named('second', true)];
    expect(await usableBackend(appOf('restricted', candidates), 'messaging')).toMatchObject({
      backend: { kind: 'second' },
      unusable: [{ backend: 'first', reason }],
    });
    expect(await usableBackend(appOf(undefined, candidates), 'messaging')).toMatchObject({ backend: { kind: 'first' }, unusable: [] });
  });

  it('is the only one that is configured, also when it cannot restrict the network', async () => {
    expect(await usableBackend(appOf('restricted', [named('only', reason)]), 'cli')).toMatchObject({ backend: { kind: 'only' } });
  });
});

describe('a configuration that changes while the gateway runs', () => {
  it('gives the egress thread the new rules at once', async () => {
    const home = makeScratch();
    const load = (allow: string[]) =>
      loadConfig({ environment: { HOME: home, HERMETIC_HOME: `${home}/.hermetic`, HERMETIC_NETWORK_ALLOW: JSON.stringify(allow) } });
    const app = createApp({ environment: { HOME: home, HERMETIC_HOME: `${home}/.hermetic` } });
    const seen: string[][] = [];
    const changed = vi.spyOn(EgressThread.prototype, 'rulesChanged').mockImplementation(() => {
      seen.push(
        egressRules(app.loaded.config)
          .allow.map(({ text }) => text)
          .slice(0, 1),
      );
    });
    app.apply(load(['a.example']));
    app.apply(load(['b.example']));
    expect(seen).toEqual([['a.example'], ['b.example']]);
    changed.mockRestore();
    await app.close();
  });
});
