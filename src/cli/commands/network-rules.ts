import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import { type HostGrant, hostGrants, revokeHosts } from '../../approval/host-grants.ts';
import { allowRules, coversRule, rulesWithoutEffect } from '../../config/egress-rules.ts';
import { findHome, prepareHome } from '../../config/home.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { originText } from '../../config/show.ts';
import { destinationText, type HostRule } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import { matches, parseDenyRule, parseHostRule } from '../../egress/rules.ts';
import { hermetic } from '../../lib/own-command.ts';
import { durationOption } from '../duration-option.ts';
import { grantText } from '../grant-text.ts';
import { isSameRule, type ParseRule, ruleFrom, ruleText, ruleWords } from '../host-argument.ts';
import type { CliIo } from '../io.ts';
import { networkVerdict } from '../network-verdict.ts';
import { personHere } from '../person.ts';
import { sessionName } from '../session-options.ts';
import { withApp } from '../with-app.ts';
import { withSettings } from '../with-settings.ts';
import { allowInSession } from './network-allow-session.ts';

const allowUsage = `${hermetic} network allow HOST[:PORT] [--session SESSION [--for TIME]]`;
const denyUsage = `${hermetic} network deny HOST[:PORT]`;
const forgetUsage = `${hermetic} network forget HOST[:PORT]`;

const allowHelp = `
Without --session it adds a rule to network.allow in config.yaml, for all restricted sandboxes: HOST, *.HOST, HOST:PORT or HOST:*. Without a
port the rule covers 80 and 443. A running gateway follows by itself.

With --session it gives a grant for everyone in that session, as a yes to a question does: for exact hosts, until the session ends, or as long
as --for says. A session is named by its title, its id or its sandbox: ${hermetic} status and ${hermetic} sandbox list show them.

Examples:
  ${hermetic} network allow api.example.com
  ${hermetic} network allow '*.example.org'
  ${hermetic} network allow db.example.net:5432 --session work --for 2h`;

const denyHelp = `
Adds a rule to network.deny in config.yaml, which wins over network.allow, presets and grants, and revokes the grants that it covers. Without a
port it covers all of them.

Examples:
  ${hermetic} network deny gist.github.com
  ${hermetic} network deny '*.example.org'`;

const forgetHelp = `
Removes the entries for exactly this host from network.allow and network.deny in config.yaml, and revokes the grants for it. Without a port, of
all ports. Rules with a wildcard, presets and secrets stay, and it says so when one of them still decides. Exits with 1 when there is nothing to
remove.

Examples:
  ${hermetic} network forget api.example.com
  ${hermetic} network forget '*.example.org'`;

/** Adds what changes the rules: `allow`, `deny` and `forget`. */
export function addRuleCommands(network: Command, io: CliIo): void {
  network
    .command('allow <host[:port]>')
    .description('allow a host: for all restricted sandboxes, or in one session')
    .option('--session <session>', 'only in this session, by a grant', sessionName)
    .option('--for <time>', 'how long the grant lasts: 30m, 2h, 7d', durationOption)
    .addHelpText('after', allowHelp)
    .action(async (text: string, { session, for: lasting }: { session?: string; for?: number }) => {
      const rule = ruleFrom(parseHostRule, text, allowUsage);
      if (lasting !== undefined && session === undefined) {
        throw new HermeticError('usage/bad-argument', '--for is for a grant, which is given in one session: name it with --session.', {
          hint: `Usage: ${allowUsage}`,
        });
      }
      if (lasting === 0) throw new HermeticError('usage/bad-argument', '--for needs a time longer than 0.');
      if (session !== undefined) return await allowInSession(io, rule, session, lasting);
      await addRule(io, 'network.allow', rule, parseHostRule);
    });

  network
    .command('deny <host[:port]>')
    .description('deny a host in all restricted sandboxes, and revoke the grants for it')
    .addHelpText('after', denyHelp)
    .action(async (text: string) => {
      const rule = ruleFrom(parseDenyRule, text, denyUsage);
      const { config } = await addRule(io, 'network.deny', rule, parseDenyRule);
      for (const { rule: lost, source } of allowRules(config).filter((one) => coversRule(rule, one.rule))) {
        io.stdout.write(`no longer allowed: ${lost.text} (${source})\n`);
      }
      await revokeWhere(io, (grant) => matches(rule, grant));
    });

  network
    .command('forget <host[:port]>')
    .description('remove the rules and the grants for a host')
    .addHelpText('after', forgetHelp)
    .action(async (text: string) => {
      const rule = ruleFrom(parseDenyRule, text, forgetUsage);
      const file = configFile(io);
      const removed = [
        await removeRules(io, 'network.allow', rule, parseHostRule),
        await removeRules(io, 'network.deny', rule, parseDenyRule),
      ];
      const revoked = await revokeWhere(io, (grant) => !rule.isWildcard && matches(rule, grant));
      if (revoked === 0 && !removed.includes(true)) {
        throw new HermeticError('network/not-found', `There is neither an entry of ${file} nor a grant for ${ruleWords(rule)}.`, {
          hint: `${hermetic} network list shows what decides.`,
        });
      }
      await tellWhatDecides(io, rule);
    });
}

type ListName = 'network.allow' | 'network.deny';

function configFile({ environment }: CliIo): string {
  const home = findHome({ environment });
  prepareHome(home);
  return home.files.config;
}

/** Says what it did, and what keeps the rule from having an effect. */
async function addRule(io: CliIo, name: ListName, rule: HostRule, parse: ParseRule): Promise<LoadedConfig> {
  const file = configFile(io);
  const before = new Set(rulesWithoutEffect(loadConfig({ environment: io.environment }).config));
  const isAdded = await withSettings(
    io,
    async (settings) => await settings.add(name, ruleText(rule, parse), (other) => isSame(parse(other), rule)),
  );
  io.stdout.write(`${ruleWords(rule)} ${isAdded ? `is added to ${name} in ${file}` : `is in ${name} of ${file} already`}\n`);
  const loaded = loadConfig({ environment: io.environment });
  tellOfOverride(io, loaded, name);
  if (name === 'network.allow') {
    const own = `network.allow: ${JSON.stringify(ruleText(rule, parse))} `;
    const ineffective = rulesWithoutEffect(loaded.config).filter((sentence) => !before.has(sentence) || sentence.startsWith(own));
    for (const sentence of ineffective) io.stderr.write(`warning: ${sentence}\n`);
    tellOfPartlyDenied(io, loaded, rule);
  }
  tellOfOtherNetwork(io, loaded);
  return loaded;
}

/** Of a rule that `network.deny` does not cover as a whole. */
function tellOfPartlyDenied(io: CliIo, { config }: LoadedConfig, rule: HostRule): void {
  const denied = config.network.deny.map(parseDenyRule).filter((one) => typeof one !== 'string');
  const inside = denied.filter(
    (one) => !coversRule(one, rule) && (coversRule(rule, { ...one, ports: rule.ports }) || isSameHost(one, rule)),
  );
  for (const { text } of inside) io.stderr.write(`note: ${text} stays denied (network.deny)\n`);
}

function isSameHost(one: HostRule, other: HostRule): boolean {
  return one.host === other.host && one.isWildcard === other.isWildcard;
}

function isSame(parsed: HostRule | string, rule: HostRule): boolean {
  return typeof parsed !== 'string' && isSameRule(parsed, rule);
}

/** Without a port in `rule`, an entry with any ports. */
async function removeRules(io: CliIo, name: ListName, rule: HostRule, parse: ParseRule): Promise<boolean> {
  const isMeant = (entry: string): boolean => {
    const other = parse(entry);
    if (typeof other === 'string' || !isSameHost(other, rule)) return false;
    return rule.ports === 'all' || isSameRule(other, rule);
  };
  const removed = await withSettings(io, async (settings) => await settings.take(name, isMeant));
  if (removed.length === 0) return false;
  io.stdout.write(`${removed.join(', ')} ${removed.length === 1 ? 'is' : 'are'} removed from ${name} in ${configFile(io)}\n`);
  tellOfOverride(io, loadConfig({ environment: io.environment }), name);
  return true;
}

async function revokeWhere(io: CliIo, isMeant: (grant: HostGrant) => boolean): Promise<number> {
  const revoked = await withApp(io, async (app: App) => {
    const { grants } = await app.store();
    return await revokeHosts(grants, (await hostGrants(grants, new Date())).filter(isMeant), personHere());
  });
  for (const one of revoked) io.stdout.write(`revoked: ${grantText(one)}\n`);
  return revoked.length;
}

/** What another rule says about the host. */
async function tellWhatDecides(io: CliIo, { host, isWildcard, ports }: HostRule): Promise<void> {
  if (isWildcard) return;
  const { config } = loadConfig({ environment: io.environment });
  for (const port of ports === 'all' ? [443] : ports) {
    const { rule, source, reason } = await networkVerdict(config, { host, port });
    if (rule === undefined) continue;
    const verb = reason === 'denied' ? 'denied' : 'allowed';
    io.stderr.write(`note: ${destinationText({ host, port })} is still ${verb} by ${rule} (${source})\n`);
  }
}

function tellOfOverride(io: CliIo, { origins }: LoadedConfig, name: ListName): void {
  const origin = origins[name];
  if (origin && 'variable' in origin) io.stderr.write(`note: ${originText(origin)} is set and overrides config.yaml\n`);
}

function tellOfOtherNetwork(io: CliIo, { config }: LoadedConfig): void {
  const { network } = config.terminal;
  if (network === 'open' || network === 'none') io.stderr.write(`note: terminal.network is ${network}: no session has these rules\n`);
}
