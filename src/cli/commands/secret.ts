import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { findHome, prepareHome } from '../../config/home.ts';
import { checkSecretName, checkSecretValue, removeSecret, saveSecret, secretNames } from '../../config/secrets-file.ts';
import { HermeticError } from '../../core/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import { type CliIo, commandOn } from '../io.ts';
import { jsonText } from '../json.ts';

const explanation = `
Secrets are in .env of the home, which only its owner can read. In a terminal the command asks for the value without showing it; otherwise it reads standard input to
the end, without the final newline. Use standard input for a value of several lines. A value is never an argument: other users could read it.

A sandbox gets a secret only when terminal.docker_forward_env names it, and then anything inside can read it and send it away.

Examples:
  hermetic secret set GITHUB_TOKEN
  hermetic secret set DEPLOY_KEY < key.pem
  hermetic secret list
  hermetic secret remove GITHUB_TOKEN`;

export function secretCommand(io: CliIo): Command {
  const secret = commandOn(io, 'secret').description('manage tokens and keys in .env').addHelpText('after', explanation);
  const dotenv = (): string => {
    const home = findHome({ environment: io.environment });
    prepareHome(home);
    return home.files.dotenv;
  };

  secret
    .command('set <name>')
    .description('store a value from the terminal or from standard input')
    .allowExcessArguments()
    .action(async (name: string, _options: unknown, command: Command) => {
      // Security: an extra argument is most likely the value, so it is not repeated.
      if (command.args.length > 1) {
        throw new HermeticError(
          'usage/bad-argument',
          'A value must not be an argument: other users could read it, and your shell remembers it.',
          {
            hint: 'hermetic secret set NAME asks for the value, or reads it from standard input. Replace the one you typed.',
          },
        );
      }
      checkSecretName(name);
      const file = dotenv();
      // Refuses a file that others can read before the value is asked for.
      const isKnown = secretNames(file).includes(name);
      const value = await valueFor(io, name);
      checkSecretValue(value);
      saveSecret(file, name, value);
      io.stdout.write(`${name} is ${isKnown ? 'replaced' : 'stored'} in ${file}\n`);
      if (io.environment[name]?.trim()) io.stderr.write(`note: ${name} is also set in the environment, which overrides .env\n`);
    });

  secret
    .command('list')
    .description('print the names, never the values')
    .option('--json', 'print an array')
    .action(({ json }: { json?: boolean }) => {
      const names = secretNames(dotenv());
      io.stdout.write(json ? jsonText(names) : names.map((name) => `${name}\n`).join(''));
    });

  secret
    .command('remove <name>')
    .description('remove a secret from .env')
    .action((name: string) => {
      const file = dotenv();
      if (removeSecret(file, name)) {
        io.stdout.write(`${name} is removed from ${file}\n`);
        return;
      }
      const meant = nearest(name, secretNames(file));
      throw new HermeticError('secret/not-found', `${file} has no secret of this name.${meant ? ` Did you mean ${meant}?` : ''}`, {
        hint: 'hermetic secret list prints the names.',
      });
    });

  return secret;
}

async function valueFor(io: CliIo, name: string): Promise<string> {
  const { stdin, stderr } = io as { stdin: CliIo['stdin'] & { isTTY?: boolean }; stderr: CliIo['stderr'] };
  if (stdin.isTTY) {
    const { askSecret } = await import('../setup-wizard.ts');
    // Standard output may go elsewhere.
    return (await askSecret({ ...io, stdout: stderr }, name)) ?? '';
  }
  const bytes = await buffer(stdin);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw new HermeticError('usage/bad-argument', 'The value cannot be stored: it is not UTF-8 text. Nothing was changed.');
  }
}
