import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { bindingChanges } from '../../config/bind-secret.ts';
import { secretSettings } from '../../config/bound-secrets.ts';
import type { Changes } from '../../config/edit.ts';
import { problemsError } from '../../config/explain.ts';
import { findHome, prepareHome } from '../../config/home.ts';
import { type ListedSecret, listedSecrets, secretsOverride, unusableSecrets } from '../../config/listed-secrets.ts';
import { checkConfig, loadConfig } from '../../config/load.ts';
import { checkSecretName, secretNames } from '../../config/secrets-file.ts';
import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';
import { objectNameFlaw } from '../../lib/variable-name.ts';
import { type CliIo, commandOn } from '../io.ts';
import { jsonText } from '../json.ts';
import { table } from '../table.ts';
import { withSettings } from '../with-settings.ts';

const explanation = `
Secrets are in .env of the home, which only its owner can read. In a terminal the command asks for the value without showing it; otherwise it reads standard input to
the end, without the final newline. Use standard input for a value of several lines. A value is never an argument: other users could read it.

With --host, the secret is bound to these hosts in config.yaml: a restricted sandbox has a placeholder in the variable, and the gateway puts the value into requests to these
hosts. The value never enters. Otherwise a sandbox gets a secret only when terminal.docker_forward_env names it, and then anything inside can read it and send it away.

Examples:
  ${hermetic} secret set GITHUB_TOKEN --host api.github.com --host github.com
  ${hermetic} secret set OPENAI_API_KEY --host api.openai.com --exclusive
  ${hermetic} secret set DEPLOY_KEY < key.pem
  ${hermetic} secret list
  ${hermetic} secret remove GITHUB_TOKEN`;

interface SetOptions {
  host?: string[];
  as?: string;
  header?: string[];
  query?: true;
  path?: true;
  prefix?: string;
  exclusive?: true;
}

const repeated = (value: string, former: string[] = []): string[] => [...former, value];

export function secretCommand(io: CliIo): Command {
  const secret = commandOn(io, 'secret').description('manage tokens and keys in .env').addHelpText('after', explanation);
  const homeFiles = () => {
    const home = findHome({ environment: io.environment });
    prepareHome(home);
    return home.files;
  };

  secret
    .command('set <name>')
    .description('store a value from the terminal or from standard input')
    .option('--host <host[:port]>', 'bind it to this host; may be repeated', repeated)
    .option('--as <variable>', 'the variable inside that holds the placeholder; default: the name')
    .option('--header <name>', 'a header in which the placeholder is replaced, instead of the usual ones; may be repeated', repeated)
    .option('--query', 'replace it also in the query of URLs')
    .option('--path', 'replace it also in the path of URLs')
    .option('--prefix <text>', 'what programs expect the token to begin with')
    .option('--exclusive', 'refuse requests to its hosts that have another credential')
    .allowExcessArguments()
    .action(async (name: string, options: SetOptions, command: Command) => {
      // Security: an extra argument is most likely the value, so it is not repeated.
      if (command.args.length > 1) {
        throw new HermeticError(
          'usage/bad-argument',
          'A value must not be an argument: other users could read it, and your shell remembers it.',
          {
            hint: `${hermetic} secret set NAME asks for the value, or reads it from standard input. Replace the one you typed.`,
          },
        );
      }
      checkSecretName(name);
      const files = homeFiles();
      // Everything that can be refused is refused before the value is asked for.
      const isKnown = secretNames(files.dotenv).includes(name);
      const changes = bindingFor(io, name, options);
      const value = await valueFor(io, name);
      await withSettings(
        io,
        async (settings) => await settings.storeSecret(name, value, changes && { changes, hosts: options.host ?? [] }),
      );
      io.stdout.write(`${name} is ${isKnown ? 'replaced' : 'stored'} in ${files.dotenv}\n`);
      if (changes) io.stdout.write(`${name} is bound to ${options.host?.join(', ')} in ${files.config}\n`);
      if (io.environment[name]?.trim()) io.stderr.write(`note: ${name} is also set in the environment, which overrides .env\n`);
      if (changes) tellOfOverride(io);
    });

  secret
    .command('list')
    .description('print the names and what they are bound to, never the values')
    .option('--json', 'print an array')
    .action(({ json }: { json?: boolean }) => {
      const listed = listing(io, secretNames(homeFiles().dotenv));
      io.stdout.write(json ? jsonText(listed) : prose(listed));
    });

  secret
    .command('remove <name>')
    .description('remove a secret from .env, and its binding from config.yaml')
    .action(async (name: string) => {
      const files = homeFiles();
      const { wasStored, wasBound } = await withSettings(io, async (settings) => await settings.forgetSecret(name));
      if (wasStored) io.stdout.write(`${name} is removed from ${files.dotenv}\n`);
      if (wasBound) io.stdout.write(`secrets.${name} is removed from ${files.config}: sandboxes no longer get its placeholder\n`);
      if (wasBound) tellOfOverride(io);
    });

  return secret;
}

/** The change that binds the secret; undefined when it is not to be bound. Throws when the configuration would not load with it. */
function bindingFor(io: CliIo, name: string, { host, as: inside, header, ...others }: SetOptions): Changes | undefined {
  if (host === undefined) {
    if (inside === undefined && header === undefined && Object.keys(others).length === 0) return undefined;
    throw new HermeticError('usage/bad-argument', 'These options are for a secret that is bound to hosts.', {
      hint: `Usage: ${hermetic} secret set NAME --host HOST[:PORT] [--as VARIABLE] [--header NAME] [--query] [--path] [--prefix TEXT] [--exclusive]`,
    });
  }
  const chosen = { hosts: host, ...(inside !== undefined && { as: inside }), ...(header && { headers: header }), ...others };
  return bindingChanges(loadConfig({ environment: io.environment }), name, chosen);
}

/** Why the change of config.yaml has no effect yet. */
function tellOfOverride(io: CliIo): void {
  const [first, ...others] = checkConfig({ environment: io.environment });
  if (first) {
    io.stderr.write(`note: the configuration still does not load:\n${problemsError([first, ...others]).message}\n`);
    return;
  }
  const note = secretsOverride(loadConfig({ environment: io.environment }));
  if (note !== undefined) io.stderr.write(`note: ${note}\n`);
}

/** JSON. Of one that is not bound, only the name is known. */
type Listed = ListedSecret | { name: string; hosts: readonly never[]; variable: null; value: '.env' | null; problem: string | null };

/** The secrets of the configuration, then the other names of `.env`, and those in config.yaml that cannot be used. */
function listing(io: CliIo, stored: readonly string[]): Listed[] {
  const loaded = checkConfig({ environment: io.environment }).length === 0 ? loadConfig({ environment: io.environment }) : undefined;
  const used = new Set(loaded && secretSettings(loaded.config).map(({ env }) => env));
  const unusable = new Set(loaded && unusableSecrets(loaded));
  const others = new Set([...stored.filter((name) => !used.has(name)), ...unusable]);
  return [
    ...(loaded ? listedSecrets(loaded) : []),
    ...[...others].map((name): Listed => {
      const problem = unusable.has(name) ? `${name} is not used: ${objectNameFlaw}.` : null;
      return { name, hosts: [], variable: null, value: stored.includes(name) ? '.env' : null, problem };
    }),
  ];
}

function prose(listed: readonly Listed[]): string {
  const row = ({ name, hosts, variable, value, problem }: Listed): string[] =>
    variable === null
      ? [name]
      : [
          name,
          hosts.join(', '),
          `as ${variable}`,
          problem ?? (value === null ? 'no value' : `value from ${value === '.env' ? '.env' : 'the environment'}`),
        ];
  return table(listed.map(row));
}

async function valueFor(io: CliIo, name: string): Promise<string> {
  const { stdin, stderr } = io as { stdin: CliIo['stdin'] & { isTTY?: boolean }; stderr: CliIo['stderr'] };
  if (stdin.isTTY) {
    const { askFor } = await import('../setup-wizard.ts');
    // Standard output may go elsewhere.
    return await askFor({ ...io, stdout: stderr }, name, true);
  }
  const bytes = await buffer(stdin);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw new HermeticError('usage/bad-argument', 'The value cannot be stored: it is not UTF-8 text. Nothing was changed.');
  }
}
