import type { Command } from 'commander';
import { revocationEvent } from '../../approval/records.ts';
import { HermeticError } from '../../core/errors.ts';
import { everyone, type GrantEntry, type GrantLedger } from '../../core/store.ts';
import { hermetic } from '../../lib/own-command.ts';
import { visible } from '../../lib/visible.ts';
import type { CliIo } from '../io.ts';
import { jsonText } from '../json.ts';
import { personHere } from '../person.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

/** Adds what shows and takes back remembered answers: `grants` and `revoke`. */
export function addGrantCommands(approvals: Command, io: CliIo): void {
  approvals
    .command('grants')
    .description('list remembered answers: who gave them, when, where and why')
    .option('--all', 'include grants no longer in force')
    .option('--json', 'print an array')
    .action(async ({ all, json }: { all?: boolean; json?: boolean }) => {
      const list = await withApp(io, async (app) => await (await app.store()).grants.list());
      const now = new Date();
      const found = all ? list : list.filter((grant) => isInForce(grant, now));
      const head = ['GRANT', 'SCOPE', 'RULE', 'PROGRAM', 'FOR', 'SESSION', 'BY', 'FROM', 'SINCE', 'UNTIL', 'WHY'];
      if (json) io.stdout.write(jsonText(found.map(({ parts, ...grant }) => ({ ...grant, sessionParts: parts }))));
      else if (found.length === 0) io.stdout.write('There are no grants.\n');
      else io.stdout.write(table([head, ...found.map(row)]));
    });

  approvals
    .command('revoke <grant>')
    .description('revoke a remembered answer')
    .action(async (id: string) => {
      await withApp(io, async (app) => await revoke((await app.store()).grants, id));
      io.stdout.write('The grant is revoked. The next time a person is asked.\n');
    });
}

async function revoke(grants: GrantLedger, id: string): Promise<void> {
  const found = (await grants.list()).filter((grant) => grant.id === id || (id.length >= 8 && grant.id.startsWith(id)));
  const [grant, ...others] = found;
  if (!grant || others.length > 0) {
    throw new HermeticError('approval/not-found', `There is ${grant ? 'more than one' : 'no'} grant ${visible(id)}.`, {
      hint: `${hermetic} approvals grants --all`,
    });
  }
  const [by, at] = [personHere(), new Date()];
  if (await grants.revoke(grant.id, by, at, [revocationEvent(grant, by, at)])) return;
  const now = await grants.find(grant.id);
  throw new HermeticError('approval/settled', `It was revoked by ${visible(now?.revokedBy ?? '?')} at ${now?.revokedAt?.toISOString()}.`);
}

function isInForce({ revokedAt, expiresAt }: GrantEntry, now: Date): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now);
}

function row(grant: GrantEntry): string[] {
  const minute = (time: Date | undefined): string => time?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
  const until = grant.revokedAt ? `revoked ${minute(grant.revokedAt)}` : minute(grant.expiresAt);
  const person = grant.person === everyone ? 'everyone' : (grant.person ?? 'this machine');
  const cells = [person, grant.session, grant.grantedBy, grant.grantedFrom].map((text) => visible(text).replaceAll('\n', ' ').slice(0, 40));
  const program = grant.program === undefined ? `exactly ${grant.digest?.slice(0, 8)}` : visible(grant.program);
  return [
    grant.id.slice(0, 8),
    grant.scope,
    grant.rule,
    program,
    ...cells,
    minute(grant.grantedAt),
    until,
    visible(grant.why).replaceAll('\n', ' '),
  ];
}
