import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Remains } from '../../core/sandbox.ts';
import { type CliIo, commandOn } from '../io.ts';
import { appOf } from '../session-options.ts';
import { table } from '../table.ts';

interface Found extends Remains {
  backend: string;
}

interface Options {
  backend?: string;
  json?: boolean;
}

export function sandboxCommand(io: CliIo): Command {
  const sandbox = commandOn(io, 'sandbox').description('what sandboxes exist, what they cost, and how to remove them');

  sandbox
    .command('list')
    .description('every sandbox of this installation')
    .option('--backend <name>', 'only of this backend')
    .option('--json', 'print an array')
    .action(async ({ backend, json }: Options) => {
      const found = await findAll(appOf(io), backend);
      if (json) io.stdout.write(`${JSON.stringify(found.map(plain), undefined, 2)}\n`);
      else if (found.length === 0) io.stdout.write('There are no sandboxes.\n');
      else io.stdout.write(table([['SESSION', 'BACKEND', 'STATE', 'CREATED', 'NAME'], ...found.map(row)]));
    });

  sandbox
    .command('show <session>')
    .description('one sandbox, with the disk space its files take')
    .option('--backend <name>', 'when the session has sandboxes on several')
    .option('--json', 'print an object')
    .action(async (session: string, { backend, json }: Options) => {
      const found = await findOne(appOf(io), session, backend);
      const facts = { ...plain(found), diskBytes: await diskBytes(found.directory) };
      if (json) io.stdout.write(`${JSON.stringify(facts, undefined, 2)}\n`);
      else io.stdout.write(table(Object.entries(facts).map(([key, value]) => [key, String(value ?? '-')])));
    });

  sandbox
    .command('destroy <session>')
    .description('end the processes of a sandbox and remove its files')
    .option('--backend <name>', 'when the session has sandboxes on several')
    .action(async (session: string, { backend }: Options) => {
      const app = appOf(io);
      const found = await findOne(app, session, backend);
      await found.destroy();
      await (await app.store()).sandboxes.forget({ backend: found.backend, name: found.name });
      await app.close();
      io.stdout.write(`The ${found.backend} sandbox of ${found.session} is gone.\n`);
    });

  return sandbox;
}

async function findAll(app: App, only: string | undefined): Promise<Found[]> {
  const backends = only === undefined ? [...app.backends.values()] : app.candidates(only);
  const lists = await Promise.all(
    backends.map(async (backend) => (await backend.list()).map((remains) => ({ ...remains, backend: backend.kind }))),
  );
  return lists.flat().sort((a, b) => a.session.localeCompare(b.session) || a.backend.localeCompare(b.backend));
}

async function findOne(app: App, session: string, only: string | undefined): Promise<Found> {
  const matching = (await findAll(app, only)).filter((one) => one.session === session || one.name === session);
  const [first, ...others] = matching;
  if (!first)
    throw new HermeticError('sandbox/not-found', `There is no sandbox of a session called ${session}.`, { hint: 'hermetic sandbox list' });
  if (others.length === 0) return first;
  throw new HermeticError(
    'usage/bad-argument',
    `The session ${session} has sandboxes on ${matching.map((one) => one.backend).join(' and ')}.`,
    {
      hint: 'Say which one with --backend.',
    },
  );
}

function plain({ session, backend, state, image, createdAt, name, directory }: Found) {
  return { session, backend, state, image: image ?? null, createdAt: createdAt.toISOString(), name, directory };
}

function row(found: Found): string[] {
  return [printable(found.session), found.backend, found.state, found.createdAt.toISOString().slice(0, 16).replace('T', ' '), found.name];
}

/** Security: a session may be called anything, also something a terminal obeys. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '?');
}

async function diskBytes(directory: string): Promise<number | undefined> {
  const result = await promisify(execFile)('du', ['-sk', '--', directory]).catch(() => undefined);
  const kilobytes = Number(result?.stdout.split('\t')[0]);
  return Number.isFinite(kilobytes) ? kilobytes * 1024 : undefined;
}
