import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import { directoryBytes } from '../../backends/sandbox-directory.ts';
import { HermeticError } from '../../core/errors.ts';
import type { ListedSandbox } from '../../core/sandbox.ts';
import { sessionPartsText } from '../../core/session.ts';
import type { ProofEntry, SandboxEntry } from '../../core/store.ts';
import { hermetic } from '../../lib/own-command.ts';
import { printable } from '../../lib/printable.ts';
import { isKept } from '../../sandboxes/kept.ts';
import { isHeld } from '../../sandboxes/lease.ts';
import { type Kept, survey, sweep } from '../../sandboxes/sweep.ts';
import { durationOption } from '../duration-option.ts';
import { type CliIo, commandOn } from '../io.ts';
import { personHere } from '../person.ts';
import { appOf } from '../session-options.ts';
import { table } from '../table.ts';

interface Found extends Omit<ListedSandbox, 'state'> {
  backend: string;
  /** `missing`: the state database gives it to a session, and its backend does not list it. */
  state: ListedSandbox['state'] | 'missing';
  /** Its row in the state database. */
  entry: SandboxEntry | undefined;
  proof: ProofEntry | undefined;
}

interface Options {
  backend?: string;
  json?: boolean;
}

export function sandboxCommand(io: CliIo): Command {
  const sandbox = commandOn(io, 'sandbox').description('list, inspect and remove sandboxes');

  sandbox
    .command('list')
    .description('list the sandboxes of this installation')
    .option('--backend <name>', 'only of this backend')
    .option('--json', 'print an array')
    .action(async ({ backend, json }: Options) => {
      const found = await findAll(appOf(io), backend);
      if (json) io.stdout.write(`${JSON.stringify(await Promise.all(found.map(withDisk)), undefined, 2)}\n`);
      else if (found.length === 0) io.stdout.write('There are no sandboxes.\n');
      else io.stdout.write(table([['SESSION', 'BACKEND', 'STATE', 'CREATED', 'LAST USED', 'PROOF', 'NAME'], ...found.map(row)]));
    });

  sandbox
    .command('show <session>')
    .description('show one sandbox and its disk use')
    .option('--backend <name>', 'needed if the session has sandboxes on several backends')
    .option('--json', 'print an object')
    .action(async (session: string, { backend, json }: Options) => {
      const [found] = await findOne(appOf(io), session, backend);
      const facts = await withDisk(found);
      if (json) io.stdout.write(`${JSON.stringify(facts, undefined, 2)}\n`);
      else io.stdout.write(table(shown(facts)));
    });

  sandbox
    .command('destroy <session>')
    .description('end the processes of a sandbox and remove its files')
    .option('--backend <name>', 'needed if the session has sandboxes on several backends')
    .action(async (session: string, { backend }: Options) => {
      const app = appOf(io);
      const parts = await findOne(app, session, backend);
      const [found] = parts;
      for (const part of parts) await part.destroy();
      await (await app.store()).sandboxes.forget(found);
      if (found.entry) await app.approvals.endSession(found.entry.session, personHere());
      await app.close();
      const end = found.state === 'missing' ? `was forgotten. Nothing in ${printable(found.directory)} was touched` : 'was removed';
      io.stdout.write(`The ${found.backend} sandbox of ${printable(found.session) || '-'} ${end}.\n`);
    });

  sandbox
    .command('prune')
    .description('remove leftovers of a crash and long unused sandboxes, and list files that belong to no known session')
    .option(
      '--older-than <time>',
      'also files of sessions unused for this time: 12h, 30d (default: gateway.sandbox_retention_days)',
      durationOption,
    )
    .option('--unknown', 'also files whose session the state database does not know')
    .option('--dry-run', 'only list what would be removed')
    .addHelpText('after', pruneHelp)
    .action(async ({ olderThan, unknown: removesUnknown, dryRun }: PruneOptions) => {
      const app = appOf(io);
      const { sandboxes: ledger } = await app.store();
      // Only in the configuration 0 days mean for ever.
      const age = olderThan ?? (app.loaded.config.gateway.sandbox_retention_days * 86_400_000 || undefined);
      const unusedSince = age === undefined ? undefined : new Date(Date.now() - age);
      const options = { backends: [...app.backends.values()], ledger, unusedSince, removesUnknown };
      const { leftovers, kept } = await survey(options);
      const sizes = await Promise.all(leftovers.map(({ directory }) => directoryBytes(directory)));
      const rows = leftovers.map((one, index) => [short(one.session), one.backend, megabytes(sizes[index] ?? 0), one.why]);
      if (!dryRun) await sweep(options);
      await app.close();
      const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
      if (leftovers.length > 0) io.stdout.write(table([['SESSION', 'BACKEND', 'SIZE', 'WHY'], ...rows]));
      io.stdout.write(
        `${leftovers.length} ${dryRun ? 'would be' : 'were'} removed, ${megabytes(total)} ${dryRun ? 'to free' : 'freed'}.\n`,
      );
      io.stdout.write(keptText(kept));
    });

  return sandbox;
}

interface PruneOptions {
  olderThan?: number;
  unknown?: boolean;
  dryRun?: boolean;
}

const pruneHelp = `
Files of a session stay until they are unused for --older-than or gateway.sandbox_retention_days, also where the directory of the session
is missing on this machine. Files whose session the state database does not know are listed, and stay until --unknown is given.`;

/** Of sandboxes that stay: those a person may wonder about, and how many others there are. */
function keptText(kept: readonly Kept[]): string {
  const isUnknown = ({ why }: Kept): boolean => why === 'has files, and its session is not known';
  const special = kept.filter((one) => isUnknown(one) || one.directory === '');
  const rows = special.map(({ session, backend, name, why }) => [short(session), backend, name, why]);
  const others = kept.length - special.length;
  return [
    special.length > 0 ? `\nKept:\n${table([['SESSION', 'BACKEND', 'NAME', 'WHY'], ...rows])}` : '',
    special.some(isUnknown) ? 'Files whose session is not known are removed with --unknown, when they are not in use.\n' : '',
    others > 0 ? `${others} ${special.length > 0 ? 'others' : 'sandboxes'} of sessions are kept.\n` : '',
  ].join('');
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

async function findAll(app: App, only: string | undefined): Promise<Found[]> {
  const backends = only === undefined ? [...app.backends.values()] : app.candidates(only);
  const { sandboxes, proofs } = await app.store();
  const lists = await Promise.all(
    backends.map(async (backend) => {
      const { kind } = backend;
      // In this order: a sandbox is in the ledger before it is made.
      const all = await backend.list();
      const entries = new Map((await sandboxes.list({ backend: kind })).map((entry) => [entry.name, entry]));
      const unlisted = [...entries.values()].filter((entry) => all.every(({ name }) => name !== entry.name));
      return await Promise.all(
        [...all, ...unlisted.filter((entry) => isKept(entry) && !isHeld(entry)).map(missing)].map(async (listed) => {
          const entry = entries.get(listed.name);
          // Where the directory is missing, only the ledger may know the session.
          const session = listed.session || (entry ? sessionPartsText(entry.session) : '');
          return { ...listed, session, backend: kind, entry, proof: entry && (await proofs.latest(kind, entry.specHash)) };
        }),
      );
    }),
  );
  await app.close();
  return lists.flat().sort((a, b) => a.session.localeCompare(b.session) || a.backend.localeCompare(b.backend));
}

function missing({ name, session, image, createdAt, directory }: SandboxEntry) {
  const nothing = { stop: async () => true, destroy: async () => undefined };
  return { name, session: sessionPartsText(session), state: 'missing' as const, image, createdAt, directory, hasFiles: false, ...nothing };
}

/** All that has the name of one sandbox: its directory, and what is listed apart. */
async function findOne(app: App, session: string, only: string | undefined): Promise<[Found, ...Found[]]> {
  const all = await findAll(app, only);
  const named = all.filter((one) => one.session === session || one.name === session);
  // Remains beside the sandbox of a session have its name, and no directory.
  const withDirectory = named.filter((one) => one.hasFiles && one.directory !== '');
  const matching = withDirectory.length > 0 ? withDirectory : named;
  const [first] = matching;
  if (!first)
    throw new HermeticError('sandbox/not-found', `There is no sandbox for the session ${session}.`, { hint: `${hermetic} sandbox list` });
  const isPart = ({ backend, name }: Found): boolean => backend === first.backend && name === first.name;
  if (matching.every(isPart)) return [first, ...all.filter((one) => one !== first && isPart(one))];
  throw new HermeticError(
    'usage/bad-argument',
    `The session ${session} has sandboxes on ${matching.map((one) => one.backend).join(' and ')}.`,
    {
      hint: 'Choose one with --backend.',
    },
  );
}

async function withDisk(found: Found) {
  return { ...plain(found), diskBytes: await directoryBytes(found.directory) };
}

function plain({ session, backend, state, image, createdAt, name, directory, entry, proof }: Found) {
  const lastUsedAt = entry?.lastUsedAt ?? createdAt;
  return {
    session,
    /** A spare: no session has it yet. */
    isSpare: entry?.session.length === 0,
    backend,
    state,
    image: image ?? null,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    idleSeconds: Math.round((Date.now() - lastUsedAt.getTime()) / 1000),
    leaseUntil: entry?.leaseUntil?.toISOString() ?? null,
    proof: proof ? { held: proof.held, provenAt: proof.provenAt.toISOString() } : null,
    name,
    directory,
  };
}

const minute = (time: string): string => time.slice(0, 16).replace('T', ' ');

function row(found: Found): string[] {
  const { createdAt, lastUsedAt, proof, isSpare } = plain(found);
  const proven = proof ? (proof.held ? 'held' : 'BROKEN') : '-';
  return [
    isSpare ? '(spare)' : short(found.session),
    found.backend,
    found.state,
    minute(createdAt),
    minute(lastUsedAt),
    proven,
    found.name,
  ];
}

function shown(facts: Awaited<ReturnType<typeof withDisk>>): string[][] {
  const { session, isSpare, backend, state, image, createdAt, lastUsedAt, leaseUntil, proof, name, directory, diskBytes } = facts;
  const verdict = proof && `${proof.held ? 'held' : 'BROKE'} when it was tried at ${minute(proof.provenAt)}`;
  return [
    ['session', isSpare ? 'none yet: a spare' : printable(session) || '-'],
    ['backend', `${backend}, ${state}`],
    ['image', printable(image ?? '') || '-'],
    ['created', minute(createdAt)],
    ['last used', minute(lastUsedAt)],
    ...(leaseUntil === null ? [] : [['leased until', minute(leaseUntil)]]),
    ['containment', verdict ?? 'not tried'],
    ['files', directory === '' ? 'none on this machine' : `${megabytes(diskBytes)} in ${directory}`],
    ['name', name],
  ];
}

/** For a table, which is as wide as its widest cell. */
function short(session: string): string {
  const signs = [...(printable(session) || '-')];
  return signs.length > 40 ? `${signs.slice(0, 39).join('')}…` : signs.join('');
}
