import type { EgressRules, HostRule, PrivateRule } from '../core/egress.ts';
import { presets } from '../egress/presets.ts';
import { parseDenyRule, parseHostRule, parsePrivateRule } from '../egress/rules.ts';
import type { Config } from './schema.ts';

/** What the configuration lets restricted sandboxes reach. */
export function egressRules(config: Config): EgressRules {
  const { network } = config;
  return {
    allow: allowRules(config).map(({ rule }) => rule),
    deny: network.deny.map((text) => accepted(parseDenyRule(text))),
    private: network.private.map((text) => accepted(parsePrivateRule(text))),
    directPorts: network.direct_ports,
  };
}

export interface SourcedRule {
  rule: HostRule;
  /** The key or the preset that it is from, in words. */
  source: string;
}

/** The rules that allow something. */
export function allowRules({ network }: Config): SourcedRule[] {
  const sourced = (source: string, texts: readonly string[]) => texts.map((text) => ({ rule: accepted(parseHostRule(text)), source }));
  const parts = [...new Set(network.presets)].flatMap((name) => presets[name].map((part) => ({ name, ...part })));
  return [
    ...sourced('network.allow', network.allow),
    ...parts.flatMap(({ name, title, rules }) => sourced(`preset ${name}: ${title}`, rules)),
  ];
}

/** The schema has refused every other entry. */
function accepted<Rule extends HostRule | PrivateRule>(rule: Rule | string): Rule {
  if (typeof rule === 'string') throw new TypeError(rule);
  return rule;
}
