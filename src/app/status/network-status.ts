import { secretFlaw, secretSettings, usableSecrets } from '../../config/bound-secrets.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Audience } from '../../config/sandbox-settings.ts';
import type { Config } from '../../config/schema.ts';
import { destinationText } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Backend, Network } from '../../core/sandbox.ts';
import type { PresetName } from '../../egress/presets.ts';
import { networkFor } from '../../sandboxes/spec.ts';

/** The network of the sandboxes of one audience. */
export interface NetworkStatus {
  network: Network;
  /** Why sandboxes have no network although none is configured to be missing. */
  networkObstacle: string | undefined;
  /** Why chat sessions have an open network although nothing asks for one, and what to do. */
  networkWarning: string | undefined;
  /** What a restricted network allows; undefined for another one. */
  networkRules: NetworkRules | undefined;
}

/** JSON, for other processes. */
export interface NetworkRules {
  presets: readonly string[];
  /** Numbers of entries in the configuration. */
  allow: number;
  deny: number;
  private: number;
  secrets: readonly SecretStatus[];
}

/** JSON, for other processes. Never the value. */
interface SecretStatus {
  name: string;
  /** Why sandboxes open without it, or not at all. */
  problem: 'no value' | 'unusable value' | null;
}

type Loaded = Pick<LoadedConfig, 'config' | 'environment'>;

/** Throws when the network that is configured is a restricted one and the backend does not support it. */
export async function findNetworkStatus(loaded: Loaded, audience: Audience, backend: Backend | undefined): Promise<NetworkStatus> {
  const { config } = loaded;
  const chosen = backend ? await networkFor(config, audience, backend) : config.terminal.network;
  const openness = backend?.traits.honours['network-open'];
  const network = chosen ?? (openness === true ? 'open' : 'none');
  return {
    network,
    networkObstacle: chosen === undefined && typeof openness === 'string' ? openness : undefined,
    networkWarning: await warningAbout(config, audience, backend, network),
    networkRules: network === 'restricted' ? rulesIn(loaded) : undefined,
  };
}

async function warningAbout(
  { terminal }: Config,
  audience: Audience,
  backend: Backend | undefined,
  network: Network,
): Promise<string | undefined> {
  // Of a backend without isolation there is a louder warning.
  if (!backend || backend.traits.isolation === 'none' || audience !== 'messaging') return undefined;
  if (terminal.network !== undefined || network !== 'open') return undefined;
  const reason = await backend.canRestrict();
  if (reason === true) return undefined;
  return `WARNING: Chat sessions have an open network, because it cannot be restricted: ${reason}. Solve that, or set terminal.network to open or none (docs/network.md).`;
}

/** JSON, for other processes. */
export interface NetworkFacts {
  backend: string | null;
  /** null when sessions do not open. */
  network: Network | null;
  rules: NetworkRules | null;
  /** Why sessions do not open, have no network or an open one, and what to do. */
  problem: string | null;
}

/** The same for people who ask what is wrong: never throws because of what is configured. */
export async function findNetworkFacts(loaded: Loaded, audience: Audience, backend: Backend | undefined): Promise<NetworkFacts> {
  const kind = backend?.kind ?? null;
  try {
    const { network, networkRules, networkWarning, networkObstacle } = await findNetworkStatus(loaded, audience, backend);
    return { backend: kind, network, rules: networkRules ?? null, problem: networkWarning ?? networkObstacle ?? null };
  } catch (error) {
    if (!(error instanceof HermeticError)) throw error;
    return { backend: kind, network: null, rules: null, problem: `Sessions do not open. ${error.message}` };
  }
}

export function networkFactsText({ backend, network, rules, problem }: NetworkFacts): string {
  if (backend === null) return 'no sandbox backend works here';
  const text = network && networkText({ network, networkRules: rules ?? undefined });
  return [text, problem].filter((part) => part !== null).join('; ');
}

function rulesIn(loaded: Loaded): NetworkRules {
  const { network } = loaded.config;
  const secrets = secretSettings(loaded.config).map((setting): SecretStatus => {
    const { name, env } = setting;
    const problem = loaded.environment[env] === undefined ? 'no value' : secretFlaw(loaded, setting) ? 'unusable value' : null;
    return { name, problem };
  });
  return { presets: network.presets, allow: network.allow.length, deny: network.deny.length, private: network.private.length, secrets };
}

const presetHosts: Readonly<Record<PresetName, string>> = { packages: 'package registries', git: 'git hosts' };

/** What restricted sandboxes reach, for the agent: its presets in words, then the entries of `network.allow` and the hosts of secrets. */
export function allowedHosts(config: Config): string[] {
  const { network } = config;
  const ofSecrets = secretSettings(config).flatMap(({ destinations }) => destinations.map(destinationText));
  return [...new Set([...network.presets.map((name) => presetHosts[name]), ...network.allow, ...ofSecrets])];
}

/** The placeholders that restricted sandboxes have, for the agent. */
export function secretsInside(loaded: Loaded): { variable: string; hosts: string[] }[] {
  return usableSecrets(loaded).map(({ inside, destinations }) => ({ variable: inside, hosts: destinations.map(destinationText) }));
}

/** For a line of a status. */
export function networkText({ network, networkRules }: Pick<NetworkStatus, 'network' | 'networkRules'>): string {
  if (!networkRules) return network;
  const { presets, allow, deny, secrets = [] } = networkRules;
  const named = presets.length === 0 ? 'no presets' : `${presets.length === 1 ? 'preset' : 'presets'} ${presets.join(', ')}`;
  const counts = [`${allow} ${allow === 1 ? 'rule' : 'rules'} of network.allow`, ...(deny > 0 ? [`${deny} of network.deny`] : [])];
  const names = secrets.map(({ name, problem }) => (problem === null ? name : `${name} (${problem})`));
  const bound = names.length === 0 ? '' : `; ${names.length === 1 ? 'secret' : 'secrets'} ${names.join(', ')}`;
  return `${network} (${[named, ...counts].join(', ')}${bound})`;
}
