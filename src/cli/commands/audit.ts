import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { auditDirectory } from '../../app/retention.ts';
import { readSegment } from '../../audit/archive.ts';
import { verifyLog } from '../../audit/verify.ts';
import { type AuditHead, type AuditKind, type AuditLog, type AuditRecord, auditKinds } from '../../core/audit.ts';
import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';
import { visible } from '../../lib/visible.ts';
import { durationOption } from '../duration-option.ts';
import { type CliIo, commandOn } from '../io.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

interface ListOptions {
  last: number;
  kind?: AuditKind;
  since?: number;
  json?: boolean;
}

const pageSize = 500;

export function auditCommand(io: CliIo): Command {
  const audit = commandOn(io, 'audit').description(
    'the log of verdicts, questions, answers and commands; each record holds the hash of the previous one',
  );

  audit
    .command('list')
    .description('list the latest records')
    .option('--last <count>', 'how many', count, 50)
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(auditKinds))
    .option('--since <time>', 'only from the last 90m, 12h, 30d', durationOption)
    .option('--json', 'print an array')
    .action(async ({ last, kind, since, json }: ListOptions) => {
      const filter = { kind, since: since === undefined ? undefined : new Date(Date.now() - since) };
      const [records, segments] = await withApp(io, async (app) => {
        const { audit: log } = await app.store();
        return [await log.list(filter, last, true), await log.segments()];
      });
      if (json) io.stdout.write(`${JSON.stringify(records, undefined, 2)}\n`);
      else if (records.length === 0) io.stdout.write('There are no records.\n');
      else io.stdout.write(table([['SEQ', 'TIME', 'ACTOR', 'SESSION', 'KIND', 'OUTCOME', 'WHAT'], ...records.map(row)]));
      const archived = segments.at(-1)?.last;
      if (!json && archived !== undefined) {
        io.stdout.write(`Records 1 to ${archived} are archived: see ${hermetic} audit show and ${hermetic} audit export.\n`);
      }
    });

  audit
    .command('show')
    .description('one record, whole')
    .argument('<seq>', 'its number', count)
    .action(async (seq: number) => {
      const record = await withApp(io, async (app) => await findRecord((await app.store()).audit, auditDirectory(app.loaded.home), seq));
      if (record?.seq !== seq)
        throw new HermeticError('usage/bad-argument', `There is no record ${seq}.`, { hint: `${hermetic} audit list` });
      io.stdout.write(`${JSON.stringify(record, undefined, 2)}\n`);
    });

  audit
    .command('verify')
    .description('check the log for changed, removed, added or moved records')
    .option('--expect <seq:hash>', 'require this earlier head to be in the log', head)
    .option('--json', 'print an object')
    .action(async ({ expect, json }: { expect?: AuditHead; json?: boolean }) => {
      const found = await withApp(io, async (app) => await verifyLog((await app.store()).audit, auditDirectory(app.loaded.home), expect));
      const { records, problems } = found;
      if (json) io.stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
      else {
        for (const { seq, what } of problems) io.stdout.write(`record ${seq}: ${what}\n`);
        io.stdout.write(`${records} records. Head: ${found.head.seq}:${found.head.hash}\n`);
      }
      if (problems.length > 0) throw new HermeticError('audit/broken', `${problems.length} records are not as they were written.`);
    });

  audit
    .command('export')
    .description('print every record, one JSON object per line')
    .option('--json', 'the same')
    .action(async () => {
      await withApp(io, async (app) => {
        const { audit: log } = await app.store();
        const print = async (records: readonly AuditRecord[]): Promise<void> => {
          const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
          if (!io.stdout.write(text)) await once(io.stdout as Writable, 'drain');
        };
        let after = 0;
        for (const segment of await log.segments()) {
          for await (const record of readSegment(auditDirectory(app.loaded.home), segment)) await print([record]);
          after = segment.last;
        }
        for (;;) {
          const records = await log.list({ after }, pageSize);
          await print(records);
          after = records.at(-1)?.seq ?? after;
          if (records.length < pageSize) return;
        }
      });
    });

  return audit;
}

async function findRecord(log: AuditLog, directory: string, seq: number): Promise<AuditRecord | undefined> {
  const segment = (await log.segments()).find(({ first, last }) => first <= seq && seq <= last);
  if (!segment) return (await log.list({ after: seq - 1 }, 1))[0];
  for await (const record of readSegment(directory, segment)) if (record.seq === seq) return record;
  return undefined;
}

function row(record: AuditRecord): string[] {
  const clean = (text: string, most: number): string => visible(text).replaceAll(/\s+/g, ' ').slice(0, most);
  const { seq, at, actor, session, kind, outcome } = record;
  const time = at.toISOString().slice(0, 19).replace('T', ' ');
  return [String(seq), time, clean(actor, 24), clean(session.join(' '), 30), kind, clean(outcome, 24), clean(summary(record), 80)];
}

/** The record in a few words. */
function summary({ what }: AuditRecord): string {
  const [first] = Array.isArray(what.actions) ? what.actions : [];
  if (first && typeof first === 'object') return String(first.command ?? first.code ?? first.text ?? first.path ?? '');
  const isShort = (value: unknown): boolean => typeof value === 'string' || (Array.isArray(value) && value.every(isShort));
  return Object.entries(what)
    .filter(([, value]) => isShort(value))
    .map(([key, value]) => `${key} ${String(value)}`)
    .join(', ');
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('Expected a number of at least 1.');
  return value;
}

function head(text: string): AuditHead {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) throw new InvalidArgumentError(`Expected a head as \`${hermetic} audit verify\` prints it.`);
  return { seq: Number(seq), hash };
}
