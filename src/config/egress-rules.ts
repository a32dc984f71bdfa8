import { isIP } from 'node:net';
import { type Destination, destinationText, type EgressRules, type HostRule, type PrivateRule } from '../core/egress.ts';
import { addressClass, isPrivateAllowed } from '../egress/addresses.ts';
import { presets } from '../egress/presets.ts';
import { parseDenyRule, parseHostRule, parsePrivateRule } from '../egress/rules.ts';
import { secretSettings } from './bound-secrets.ts';
import type { Config } from './schema.ts';

/** What the configuration lets restricted sandboxes reach. */
export function egressRules(config: Config): EgressRules {
  const { network } = config;
  return {
    allow: allowRules(config).map(({ rule }) => rule),
    deny: network.deny.map((text) => accepted(parseDenyRule(text))),
    private: network.private.map((text) => accepted(parsePrivateRule(text))),
    directPorts: network.direct_ports,
    notesAllowed: network.log === 'all',
  };
}

export interface SourcedRule {
  rule: HostRule;
  /** The key or the preset that it is from, in words. */
  source: string;
}

/** The rules that allow something. */
export function allowRules(config: Config): SourcedRule[] {
  const { network } = config;
  const sourced = (source: string, texts: readonly string[]) => texts.map((text) => ({ rule: accepted(parseHostRule(text)), source }));
  const parts = [...new Set(network.presets)].flatMap((name) => presets[name].map((part) => ({ name, ...part })));
  return [
    ...secretSettings(config).flatMap(({ name, destinations }) =>
      destinations.map((one) => ({ rule: exactRule(one), source: `secret ${name}` })),
    ),
    ...sourced('network.allow', network.allow),
    ...parts.flatMap(({ name, title, rules }) => sourced(`preset ${name}: ${title}`, rules)),
  ];
}

/** A sentence about each entry of `network.allow` and each host of a secret that other entries of `network` keep from working. */
export function rulesWithoutEffect(config: Config): string[] {
  const { deny, private: privateRules } = egressRules(config);
  const ofSecrets = secretSettings(config).flatMap(({ name, destinations }) =>
    destinations.map(exactRule).flatMap((rule) => {
      const denying = deny.find((one) => coversRule(one, rule));
      return denying ? [`secrets.${name}: ${rule.text} cannot be reached, because network.deny has ${JSON.stringify(denying.text)}.`] : [];
    }),
  );
  const ofAllow = config.network.allow.flatMap((text) => {
    const rule = accepted(parseHostRule(text));
    const denying = deny.find((one) => coversRule(one, rule));
    if (denying)
      return [`network.allow: ${JSON.stringify(text)} allows nothing, because network.deny has ${JSON.stringify(denying.text)}.`];
    const isBlocked = isPrivateAddress(rule.host) && !isPrivateAllowed(rule.host, rule.host, privateRules);
    return isBlocked ? [`network.allow: ${JSON.stringify(text)} is a private address, and network.private does not have it.`] : [];
  });
  return [...ofSecrets, ...ofAllow];
}

/** Security: the host of a secret on its one port. */
function exactRule(destination: Destination): HostRule {
  return { host: destination.host, isWildcard: false, ports: [destination.port], text: destinationText(destination) };
}

function isPrivateAddress(host: string): boolean {
  return isIP(host) !== 0 && addressClass(host) === 'private';
}

/** Whether `outer` matches every destination that `inner` does. */
export function coversRule(outer: HostRule, inner: HostRule): boolean {
  const { ports } = outer;
  if (ports !== 'all' && (inner.ports === 'all' || !inner.ports.every((port) => ports.includes(port)))) return false;
  if (outer.host === inner.host) return outer.isWildcard === inner.isWildcard;
  return outer.isWildcard && inner.host.endsWith(`.${outer.host}`);
}

/** The schema has refused every other entry. */
function accepted<Rule extends HostRule | PrivateRule>(rule: Rule | string): Rule {
  if (typeof rule === 'string') throw new TypeError(rule);
  return rule;
}
