import { type Command, InvalidArgumentError } from 'commander';
import type { AuditDetail, AuditRecord } from '../../core/audit.ts';
import { sessionPartsText } from '../../core/session.ts';
import { hermetic } from '../../lib/own-command.ts';
import { durationOption } from '../duration-option.ts';
import { shortText } from '../grant-text.ts';
import type { CliIo } from '../io.ts';
import { jsonText } from '../json.ts';
import { findSession, knownSessions } from '../known-sessions.ts';
import { sessionName } from '../session-options.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

interface LogOptions {
  blocked?: boolean;
  session?: string;
  since?: number;
  limit: number;
  json?: boolean;
}

const help = `
Records of the audit log about connections, the newest last: those that were blocked or failed, those that people allowed, those to hosts with a
secret, and those that carried a placeholder; with network.log: all, also the others that rules allow. One record stands for all connections of a command to a destination, after ×. ${hermetic} audit show prints one
whole.

Examples:
  ${hermetic} network log --blocked --since 1h
  ${hermetic} network log --session work --limit 20
  ${hermetic} network log --json`;

/** Adds `log`: what became of connections. */
export function addLogCommand(network: Command, io: CliIo): void {
  network
    .command('log')
    .description('show which connections were blocked and allowed')
    .option('--blocked', 'only those that were blocked')
    .option('--session <session>', 'only of this session', sessionName)
    .option('--since <time>', 'only of the last 90s, 15m, 12h, 30d', durationOption)
    .option('--limit <count>', 'the newest records', count, 50)
    .option('--json', 'print an array')
    .addHelpText('after', help)
    .action(async ({ blocked, session, since, limit, json }: LogOptions) => {
      const { records, titles, archived } = await withApp(io, async (app) => {
        const { audit } = await app.store();
        const filter = {
          kind: 'network',
          session: session === undefined ? undefined : (await findSession(app, session)).parts,
          outcome: blocked ? 'blocked' : undefined,
          since: since === undefined ? undefined : new Date(Date.now() - since),
        } as const;
        return {
          records: await audit.list(filter, limit, true),
          titles: new Map((await knownSessions(app)).map(({ parts, title }) => [JSON.stringify(parts), title])),
          archived: (await audit.segments()).at(-1)?.last,
        };
      });
      const titleOf = ({ session: parts }: AuditRecord): string => titles.get(JSON.stringify(parts)) ?? sessionPartsText(parts);
      if (json) {
        io.stdout.write(jsonText(records.map((one) => plain(one, titleOf(one)))));
        return;
      }
      if (records.length === 0) io.stdout.write('There are no records of connections.\n');
      else io.stdout.write(table([head, ...records.map((one) => row(one, titleOf(one)))]));
      if (archived !== undefined)
        io.stdout.write(`Records 1 to ${archived} of the audit log are archived: see ${hermetic} audit export.\n`);
    });
}

const head = ['TIME', 'SESSION', 'OUTCOME', 'HOST', 'BYTES', 'WHY', 'COMMAND'];

function plain({ seq, at, session, outcome, what }: AuditRecord, title: string) {
  return { seq, at, session: title, sessionParts: session, outcome, ...what };
}

function row({ at, outcome, what }: AuditRecord, title: string): string[] {
  const text = (value: AuditDetail | undefined): string => (value === null || value === undefined ? '' : String(value));
  const times = Number(what.count) > 1 ? ` ×${text(what.count)}` : '';
  const named = (before: string, names: AuditDetail | undefined): string =>
    Array.isArray(names) && names.length > 0 ? `${before} ${names.join(', ')}` : '';
  const secrets = named(', with', what.secrets) + named(', with the placeholder of', what.placeholders);
  const by = text(what.by) === '' ? '' : `, by ${text(what.by)}`;
  return [
    at.toISOString().slice(0, 19).replace('T', ' '),
    shortText(title, 30),
    shortText(outcome, 10),
    `${hostText(text(what.host))}:${text(what.port)}${times}`,
    text(what.bytes) || '-',
    shortText(`${text(what.reason ?? what.rule) || 'an answer'}${by}${secrets}`),
    shortText(text(what.command)),
  ];
}

/** Security: a program inside chose the name. Its end says who owns it, so that is what is left of a long one. */
function hostText(host: string): string {
  const seen = shortText(host, Number.POSITIVE_INFINITY);
  const cut = seen.length > 60 ? `…${seen.slice(-60)}` : seen;
  return cut.includes(':') ? `[${cut}]` : cut;
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('Expected a number of at least 1.');
  return value;
}
