import { isIP } from 'node:net';
import type { Destination, HostRule } from '../core/egress.ts';
import { HermeticError } from '../core/errors.ts';
import { isAskable } from '../egress/asking.ts';
import { classifyHere } from '../egress/dial.ts';

/** `parseHostRule` or `parseDenyRule`, which differ in the ports of a rule that names none. */
export type ParseRule = (text: string) => HostRule | string;

/** Reads a rule that a person typed. */
export function ruleFrom(parse: ParseRule, text: string, usage: string): HostRule {
  const rule = parse(text);
  if (typeof rule === 'string') throw new HermeticError('usage/bad-argument', rule, { hint: `Usage: ${usage}` });
  return rule;
}

/** As it is written into config.yaml, with a port where it needs one. Security: in ASCII, in which no letter looks like another one. */
export function ruleText(rule: HostRule, parse: ParseRule): string {
  const { host, isWildcard, ports } = rule;
  const name = `${isWildcard ? '*.' : ''}${host}`;
  const plain = parse(name);
  if (typeof plain !== 'string' && isSameRule(plain, rule)) return name;
  return `${isIP(host) === 6 ? `[${host}]` : name}:${ports === 'all' ? '*' : ports.join()}`;
}

/** With its ports in words. */
export function ruleWords({ host, isWildcard, ports }: HostRule): string {
  const of = ports === 'all' ? 'all ports' : ports.length === 1 ? `port ${ports[0]}` : `ports ${ports.join(' and ')}`;
  return `${isWildcard ? '*.' : ''}${host} (${of})`;
}

export function isSameRule(one: HostRule, other: HostRule): boolean {
  return one.host === other.host && one.isWildcard === other.isWildcard && String(one.ports) === String(other.ports);
}

/** Whether people are asked about it when no rule names it. */
export function isAskedAbout({ host }: Destination): boolean {
  return isAskable(host) && (isIP(host) === 0 || classifyHere(host) === 'public');
}
