import { lookup } from 'node:dns/promises';
import type { Command } from 'commander';
import { findNetworkFacts, type NetworkFacts, networkFactsText } from '../../app/status/network-status.ts';
import { usableBackend } from '../../app/status/sandbox-status.ts';
import { allowRules, egressRules } from '../../config/egress-rules.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { HostRule } from '../../core/egress.ts';
import { directPorts } from '../../egress/rules.ts';
import { type CliIo, commandOn } from '../io.ts';
import { jsonText } from '../json.ts';
import { destinationFrom, networkVerdict, verdictText } from '../network-verdict.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

const explanation = `
Sandboxes with terminal.network: restricted reach only the hosts that the section network of the configuration and its presets allow. Chat
sessions are restricted unless terminal.network says otherwise, where the backend supports it.

Examples:
  hermetic network list
  hermetic network test pypi.org
  hermetic network test git.example.com:22 --resolve
  hermetic config set network.allow '["api.example.com", "*.example.org:443"]'`;

const testExplanation = `
Connects to nothing. With --resolve, the name of an allowed host is looked up and its addresses are judged. Exits with 0 when the host is
allowed, with 4 when it is denied, with 2 when it is malformed, and with 1 when its name has no address.`;

export function networkCommand(io: CliIo): Command {
  const network = commandOn(io, 'network')
    .description('show what restricted sandboxes can reach, and why')
    .addHelpText('after', explanation);

  network
    .command('list')
    .description('list the rules, and the sessions they apply to')
    .option('--json', 'print an object')
    .action(async ({ json }: { json?: boolean }) => {
      const [config, sessions] = await withApp(io, async (app) => {
        const { config: inForce } = app.loaded;
        const factsOf = async (audience: 'messaging' | 'cli') =>
          await findNetworkFacts(app.loaded, audience, (await usableBackend(app, audience)).backend);
        return [inForce, { messaging: await factsOf('messaging'), cli: await factsOf('cli') }] as const;
      });
      const listed = listing(config, sessions);
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
      io.setExitCode({ allowed: 0, denied: 4, unresolved: 1 }[verdict.verdict]);
    });

  return network;
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

type Sessions = Readonly<Record<'messaging' | 'cli', NetworkFacts>>;

function listing(config: Config, sessions: Sessions) {
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
  };
}

type Listing = ReturnType<typeof listing>;

function prose({ sessions, allow, deny, private: privates, directPorts: ports }: Listing): string {
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
  ].join('');
}
