import type { Command } from 'commander';
import { findNetworkFacts, type NetworkFacts, networkFactsText } from '../../app/status/network-status.ts';
import { usableBackend } from '../../app/status/sandbox-status.ts';
import { type HostGrant, hostGrants } from '../../approval/host-grants.ts';
import { allowRules, egressRules } from '../../config/egress-rules.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { destinationText, type HostRule } from '../../core/egress.ts';
import type { GrantEntry } from '../../core/store.ts';
import { Resolver, SessionLookups } from '../../egress/resolver.ts';
import { directPorts } from '../../egress/rules.ts';
import { hermetic } from '../../lib/own-command.ts';
import { grantScope, minuteText, shortText } from '../grant-text.ts';
import { type CliIo, commandOn } from '../io.ts';
import { jsonText } from '../json.ts';
import { findSession, type KnownSession } from '../known-sessions.ts';
import { destinationFrom, networkVerdict, verdictText } from '../network-verdict.ts';
import { sessionName } from '../session-options.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';
import { addLogCommand } from './network-log.ts';
import { addRuleCommands } from './network-rules.ts';

const explanation = `
Sandboxes with terminal.network: restricted reach only the hosts that the section network of the configuration and its presets allow. About
other hosts people are asked in the chat, unless network.ask is false. Chat sessions are restricted unless terminal.network says otherwise,
where the backend supports it.

Examples:
  ${hermetic} network list
  ${hermetic} network test git.example.com:22 --resolve
  ${hermetic} network allow api.example.com
  ${hermetic} network allow db.example.net:5432 --session work --for 2h
  ${hermetic} network deny gist.github.com
  ${hermetic} network forget api.example.com
  ${hermetic} network log --blocked --since 1h`;

const testExplanation = `
Connects to nothing. With --resolve, the name of an allowed host is looked up and its addresses are judged. A host that no rule names would be
asked about when network.ask is true; a grant may answer for people then (${hermetic} network list). Exits with 0 when the host is allowed by a
rule, with 4 when it is denied or would be asked about, with 2 when it is malformed, and with 1 when its name has no address.

Examples:
  ${hermetic} network test pypi.org
  ${hermetic} network test git.example.com:22 --resolve`;

const listExplanation = `
Rules of the configuration come first, then the grants in force: answers of people who were asked about a host, and those of ${hermetic} network
allow --session.`;

export function networkCommand(io: CliIo): Command {
  const network = commandOn(io, 'network')
    .description('show and change what restricted sandboxes can reach')
    .addHelpText('after', explanation);

  network
    .command('list')
    .description('list the rules and the sessions they apply to, and the grants for hosts')
    .option('--session <session>', 'only the grants that count in this session', sessionName)
    .option('--json', 'print an object')
    .addHelpText('after', listExplanation)
    .action(async ({ session, json }: { session?: string; json?: boolean }) => {
      const listed = await withApp(io, async (app) => {
        const { config } = app.loaded;
        const only = session === undefined ? undefined : await findSession(app, session);
        const factsOf = async (audience: 'messaging' | 'cli') =>
          await findNetworkFacts(app.loaded, audience, (await usableBackend(app, audience)).backend);
        const sessions = { messaging: await factsOf('messaging'), cli: await factsOf('cli') };
        const grants = await hostGrants((await app.store()).grants, new Date());
        return listing(
          config,
          sessions,
          grants.filter(({ grant }) => only === undefined || isFor(grant, only)),
        );
      });
      io.stdout.write(json ? jsonText(listed) : prose(listed));
    });

  network
    .command('test')
    .argument('<host[:port]>', 'the destination; without a port, 443')
    .description('say what would become of a connection, and which rule decides')
    .option('--resolve', 'also look up the name of an allowed host, and judge its addresses')
    .option('--json', 'print an object')
    .addHelpText('after', testExplanation)
    .action(async (text: string, { resolve = false, json }: { resolve?: boolean; json?: boolean }) => {
      const { config } = loadConfig({ environment: io.environment });
      const verdict = await networkVerdict(config, destinationFrom(text), resolve ? addressesOf : undefined);
      io.stdout.write(json ? jsonText(verdict) : verdictText(verdict));
      const { network: mode } = config.terminal;
      if (!json && (mode === 'open' || mode === 'none')) io.stderr.write(`note: terminal.network is ${mode}: no session has these rules\n`);
      io.setExitCode({ allowed: 0, asked: 4, denied: 4, unresolved: 1 }[verdict.verdict]);
    });

  addRuleCommands(network, io);
  addLogCommand(network, io);
  return network;
}

/** Those for `always` count in every session of their person. */
function isFor({ scope, parts }: GrantEntry, session: KnownSession): boolean {
  return scope === 'always' || JSON.stringify(parts) === JSON.stringify(session.parts);
}

/** As for a sandbox. */
async function addressesOf(host: string): Promise<string[]> {
  const found = await new Resolver().addressesOf(host, new SessionLookups(), new AbortController().signal);
  return found.map(({ address }) => address);
}

type Sessions = Readonly<Record<'messaging' | 'cli', NetworkFacts>>;

function listing(config: Config, sessions: Sessions, grants: readonly HostGrant[]) {
  const rules = egressRules(config);
  const facts = ({ host, isWildcard, ports, text }: HostRule, source: string) => ({
    rule: text,
    host,
    wildcard: isWildcard,
    ports,
    source,
  });
  return {
    sessions,
    allow: allowRules(config).map(({ rule, source }) => facts(rule, source)),
    deny: rules.deny.map((rule) => facts(rule, 'network.deny')),
    private: rules.private.map(({ text }) => text),
    directPorts: directPorts(rules),
    ask: config.network.ask,
    grants: grants.map(({ host, port, grant: { id, scope, parts, session, person, backend, grantedBy, grantedAt, expiresAt } }) => {
      return { id, host, port, scope, session, sessionParts: parts, person, backend, grantedBy, grantedAt, expiresAt };
    }),
  };
}

type Listing = ReturnType<typeof listing>;

function prose({ sessions, allow, deny, private: privates, directPorts: ports, ask, grants }: Listing): string {
  // Security: in ASCII, in which no letter looks like another one.
  const row = ({ host, wildcard, ports: of, source }: Listing['allow'][number]) => [
    `${wildcard ? '*.' : ''}${host}`,
    of === 'all' ? 'all' : of.join(', '),
    source,
  ];
  return [
    `chat sessions: ${networkFactsText(sessions.messaging)}\n`,
    `command line: ${networkFactsText(sessions.cli)}\n\n`,
    table([['ALLOWED', 'PORTS', 'FROM'], ...allow.map(row)]),
    deny.length > 0 ? `\n${table([['DENIED', 'PORTS', 'FROM'], ...deny.map(row)])}` : '',
    `\nprivate networks: ${privates.join(', ') || 'none'}\n`,
    `ports without a proxy: ${ports.join(', ') || 'none'}\n`,
    `other hosts: ${ask ? 'people are asked in the chat' : 'blocked (network.ask is false)'}\n`,
    grants.length > 0 ? `\n${table([['GRANTED', 'WHERE', 'UNTIL', 'BY'], ...grants.map(grantRow)])}` : '',
  ].join('');
}

function grantRow(grant: Listing['grants'][number]): string[] {
  const end = grant.scope === 'always' ? 'revoked' : 'the session ends';
  const until = grant.expiresAt === undefined ? end : minuteText(grant.expiresAt);
  return [destinationText(grant), grantScope(grant), until, shortText(grant.grantedBy)];
}
