import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { readFileWithin } from '../../lib/read-file-within.ts';

const maxBytes = 1024 * 1024;

const cluster = z.object({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': z.string().optional(),
  'proxy-url': z.string().optional(),
});

const execPlugin = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  interactiveMode: z.string().optional(),
  provideClusterInfo: z.boolean().optional(),
});

const user = z.object({
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  'client-certificate': z.string().optional(),
  'client-certificate-data': z.string().optional(),
  'client-key': z.string().optional(),
  'client-key-data': z.string().optional(),
  exec: execPlugin.optional(),
});

/** Ways to be another user that are not done here. Security: they are refused, because without them the requests would be those of the wrong one. */
const refusedKeys = ['username', 'password', 'auth-provider', 'as', 'as-uid', 'as-groups', 'as-user-extra'];

const context = z.object({ cluster: z.string(), user: z.string().default('') });

const file = z.object({
  'current-context': z.string().optional(),
  clusters: z.array(z.object({ name: z.string(), cluster: z.unknown() })).nullish(),
  contexts: z.array(z.object({ name: z.string(), context: z.unknown() })).nullish(),
  users: z.array(z.object({ name: z.string(), user: z.unknown() })).nullish(),
});

export type Cluster = z.output<typeof cluster>;
export type User = z.output<typeof user>;
export type ExecPlugin = z.output<typeof execPlugin>;

/** A cluster and a user, with all paths made absolute. */
export interface ChosenContext {
  cluster: Cluster;
  user: User;
}

interface Entry {
  path: string;
  value: unknown;
}

/** The chosen context of these files. Of two entries with one name the first counts, also when they are in different files. */
export async function readKubeconfig(paths: readonly string[], contextName: string | undefined): Promise<ChosenContext> {
  const found = { clusters: new Map<string, Entry>(), contexts: new Map<string, Entry>(), users: new Map<string, Entry>() };
  let current: string | undefined;
  for (const path of paths) {
    const parsed = await readFile(path);
    current ??= parsed['current-context'] || undefined;
    const add = (map: Map<string, Entry>, name: string, value: unknown): void => void (map.has(name) || map.set(name, { path, value }));
    for (const one of parsed.clusters ?? []) add(found.clusters, one.name, one.cluster);
    for (const one of parsed.contexts ?? []) add(found.contexts, one.name, one.context);
    for (const one of parsed.users ?? []) add(found.users, one.name, one.user);
  }
  const name = contextName ?? current;
  if (name === undefined) throw wrong(paths, 'it has no current context', 'Name one in terminal.kubernetes_context.');
  const chosen = checked(context, 'context', name, found.contexts.get(name), paths);
  const place = found.clusters.get(chosen.cluster);
  const owner = chosen.user === '' ? { path: paths[0] ?? '', value: {} } : found.users.get(chosen.user);
  refuseUnsupported(owner?.value, chosen.user, paths);
  return {
    cluster: absoluteCluster(checked(cluster, 'cluster', chosen.cluster, place, paths), place?.path ?? ''),
    user: absoluteUser(checked(user, 'user', chosen.user, owner, paths), owner?.path ?? ''),
  };
}

async function readFile(path: string): Promise<z.output<typeof file>> {
  try {
    return file.parse(parse((await readFileWithin(path, maxBytes)).toString()) ?? {});
  } catch (error) {
    // Security: neither the text nor a wrong value is repeated, because the file holds secrets.
    const why = error instanceof z.ZodError ? `${error.issues[0]?.path.join('.')} is wrong` : errorText(error).split('\n')[0];
    throw wrong([path], `it cannot be read: ${why}`);
  }
}

function checked<Kind extends z.ZodType>(
  kind: Kind,
  what: string,
  name: string,
  entry: Entry | undefined,
  paths: readonly string[],
): z.output<Kind> {
  if (!entry)
    throw wrong(paths, `it has no ${what} ${JSON.stringify(name)}`, 'See kubectl config get-contexts, and terminal.kubernetes_context.');
  const parsed = kind.safeParse(entry.value);
  if (!parsed.success)
    throw wrong(paths, `${parsed.error.issues[0]?.path.join('.') || 'a part'} of the ${what} ${JSON.stringify(name)} is missing or wrong`);
  return parsed.data;
}

function refuseUnsupported(value: unknown, name: string, paths: readonly string[]): void {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const refused = keys.find((key) => refusedKeys.includes(key));
  if (refused === undefined) return;
  throw wrong(
    paths,
    `the user ${JSON.stringify(name)} has ${refused}, which Hermetic does not support`,
    'Use a token, a client certificate or an exec plugin.',
  );
}

function absoluteCluster(found: Cluster, path: string): Cluster {
  return { ...found, 'certificate-authority': absolute(found['certificate-authority'], path) };
}

function absoluteUser(found: User, path: string): User {
  const { exec } = found;
  const isPath = exec?.command.includes('/');
  return {
    ...found,
    tokenFile: absolute(found.tokenFile, path),
    'client-certificate': absolute(found['client-certificate'], path),
    'client-key': absolute(found['client-key'], path),
    exec: exec && isPath ? { ...exec, command: absolute(exec.command, path) ?? '' } : exec,
  };
}

function absolute(path: string | undefined, from: string): string | undefined {
  return path === undefined || path === '' ? undefined : resolve(dirname(from), path);
}

export function wrong(paths: readonly string[], why: string, hint?: string): HermeticError {
  return new HermeticError('backend/unavailable', `The kubeconfig ${paths.join(', ')} cannot be used: ${printable(why)}.`, { hint });
}
