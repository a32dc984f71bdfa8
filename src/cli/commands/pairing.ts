import type { Command } from 'commander';
import { channelDrivers } from '../../channels/index.ts';
import type { PairedPerson, PairingOutcome, PairingRequest } from '../../core/conversation.ts';
import { HermeticError } from '../../core/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { type CliIo, commandOn } from '../io.ts';
import { jsonText } from '../json.ts';
import { shellPerson } from '../person.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

const explanation = `
A person who is not in the access lists writes to the bot and gets a pairing code. Approving that code gives access, from the next message on; revoking
ends it at once. Both work while the gateway runs.

Examples:
  ${hermetic} pairing approve K7QW2MHX            may talk
  ${hermetic} pairing approve K7QW2MHX --admin    may also let people in and choose the model
  ${hermetic} pairing revoke telegram 4711`;

export function pairingCommand(io: CliIo): Command {
  const pairing = commandOn(io, 'pairing').description('manage who may talk to the agent in chats').addHelpText('after', explanation);

  pairing
    .command('list')
    .description('people with access, and pending pairing codes')
    .option('--json', 'print an object')
    .action(async ({ json }: { json?: boolean }) => {
      const { paired, waiting } = await withApp(io, async (app) => {
        const ledger = (await app.store()).pairing;
        return { paired: await ledger.paired(), waiting: await ledger.open(new Date()) };
      });
      if (json) io.stdout.write(jsonText({ paired, waiting }));
      else io.stdout.write(prose(paired, waiting));
    });

  pairing
    .command('approve <code>')
    .description('give access to the person who has this pairing code')
    .option('--admin', 'as an admin')
    .action(async (code: string, { admin }: { admin?: boolean }) => {
      const outcome = await withApp(io, async (app) => {
        const { pairing: ledger } = await app.store();
        // A user of this shell could write the store itself, so a typing mistake is no guess.
        return await ledger.approve(code.trim().toUpperCase(), shellPerson(), admin ? 'admin' : 'user', new Date(), true);
      });
      io.stdout.write(told(outcome));
    });

  pairing
    .command('revoke <platform> <person>')
    .description("revoke a person's access")
    .action(async (platform: string, person: string) => {
      const isRevoked = await withApp(io, async (app) => {
        const { pairing: ledger } = await app.store();
        return await ledger.revoke(platform, person, shellPerson(), new Date());
      });
      if (!isRevoked) {
        refuseUnknown(platform);
        throw new HermeticError('pairing/not-found', `${printable(person)} on ${printable(platform)} is not paired. Nothing was changed.`, {
          hint: `${hermetic} pairing list shows paired people. Access given in config.yaml is removed there.`,
        });
      }
      io.stdout.write(`${printable(person)} on ${printable(platform)} no longer has access.\n`);
    });

  return pairing;
}

function refuseUnknown(platform: string): void {
  const platformNames: readonly string[] = channelDrivers.map(({ kind }) => kind);
  if (platformNames.includes(platform)) return;
  const meant = nearest(platform, platformNames);
  throw new HermeticError('usage/bad-argument', `${printable(platform)} is not a platform.${meant ? ` Did you mean ${meant}?` : ''}`, {
    hint: `The platforms are ${platformNames.join(', ')}. ${hermetic} pairing list shows who is paired.`,
  });
}

function told(outcome: PairingOutcome): string {
  switch (outcome.kind) {
    case 'paired': {
      const { person, platform, name, role } = outcome.person;
      return `${printable(name)} (${printable(person)} on ${platform}) may talk as ${role}.\n`;
    }
    case 'wrong':
      throw new HermeticError('pairing/not-found', 'That pairing code is not valid or has expired.', {
        hint: 'A code is valid for 1 h. The person gets a new one by writing to the bot again.',
      });
    case 'locked':
      throw new HermeticError('pairing/locked', `Too many wrong codes. Codes are refused until ${outcome.until.toISOString()}.`);
  }
}

/** Names are what people call themselves: they must not steer the reader's terminal, nor look like another row. */
function prose(paired: readonly PairedPerson[], waiting: readonly PairingRequest[]): string {
  if (paired.length + waiting.length === 0) return 'No one is paired, and no pairing code is pending.\n';
  const time = (at: Date): string => at.toISOString().slice(0, 16).replace('T', ' ');
  return table([
    ['PLATFORM', 'PERSON', 'NAME', 'ROLE', 'SINCE', 'BY'],
    ...paired.map((one) => [one.platform, printable(one.person), short(one.name), one.role, time(one.at), printable(one.by)]),
    ...waiting.map((one) => [one.platform, printable(one.person), short(one.name), 'asks', time(one.requestedAt), '']),
  ]);
}

function short(name: string): string {
  return [...printable(name)].slice(0, 40).join('');
}
