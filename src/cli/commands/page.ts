import type { Command } from 'commander';
import { HermeticError } from '../../core/errors.ts';
import type { SignIn } from '../../core/sign-ins.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { type CliIo, commandOn } from '../io.ts';
import { jsonText } from '../json.ts';
import { shellPerson } from '../person.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

const explanation = `
A browser is signed in by the link that ${hermetic} start prints, or by the token. It stays so for 30 days without use, and 90 days at most.
Ending a sign-in works at once, also for pages that are open, while the gateway runs. Another token ends all of them.

Examples:
  ${hermetic} page sessions
  ${hermetic} page revoke 4f1c09ab7e
  ${hermetic} page revoke --all`;

export function pageCommand(io: CliIo): Command {
  const page = commandOn(io, 'page').description('the browsers that are signed in to the page').addHelpText('after', explanation);

  page
    .command('sessions')
    .description('list the browsers that are signed in, the last used first')
    .option('--json', 'print an array')
    .action(async ({ json }: { json?: boolean }) => {
      const signIns = await withApp(io, async (app) => await (await app.store()).signIns.list(new Date()));
      io.stdout.write(json ? jsonText(signIns) : prose(signIns));
    });

  page
    .command('revoke [id]')
    .description('end the sign-in of a browser')
    .option('--all', 'of every browser')
    .action(async (id: string | undefined, { all }: { all?: true }) => {
      if ((id === undefined) === (all === undefined)) {
        throw new HermeticError('usage/bad-argument', 'Name one sign-in, or use --all.', { hint: `${hermetic} page sessions lists them.` });
      }
      const ended = await withApp(io, async (app) => {
        const { signIns } = await app.store();
        const ids = id === undefined ? (await signIns.list(new Date())).map((one) => one.id) : [id];
        const found: SignIn[] = [];
        for (const one of ids) {
          const signIn = await signIns.end(one, shellPerson(), new Date());
          if (signIn) found.push(signIn);
        }
        return found;
      });
      if (ended.length === 0 && id !== undefined) {
        throw new HermeticError('page/not-found', `No browser is signed in as ${printable(id)}. Nothing was changed.`, {
          hint: `${hermetic} page sessions lists them.`,
        });
      }
      for (const signIn of ended) io.stdout.write(`${signIn.id} is signed out: ${printable(signIn.browser)}, from ${signIn.network}\n`);
      if (ended.length === 0) io.stdout.write('No browser is signed in.\n');
    });

  return page;
}

/** A browser says itself what it is. */
function prose(signIns: readonly SignIn[]): string {
  if (signIns.length === 0) return 'No browser is signed in.\n';
  const time = (at: Date): string => at.toISOString().slice(0, 16).replace('T', ' ');
  return table([
    ['ID', 'BROWSER', 'FROM', 'BY', 'SINCE', 'LAST SEEN'],
    ...signIns.map(({ id, browser, network, by, at, seenAt }) => [id, printable(browser), printable(network), by, time(at), time(seenAt)]),
  ]);
}
