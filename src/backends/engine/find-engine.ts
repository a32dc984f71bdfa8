import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import { type EngineAddress, parseHost } from './address.ts';
import { type Certificates, closedError, readCertificates } from './certificates.ts';
import { Engine } from './engine.ts';
import { errnoOf } from './errno.ts';
import type { EngineProduct } from './product.ts';
import { type SshIdentity, sshWay } from './ssh-way.ts';

/** An engine that was configured. */
export interface NamedEngine {
  /** In the form of `DOCKER_HOST`. */
  host: string;
  /** Who named it. */
  by: string;
  /** Makes a `tcp` address one with TLS. */
  certificates?: Certificates | undefined;
  /** Where the certificates of an `https` address are that comes with none. */
  usualCertificates?: string | undefined;
}

export interface Search {
  product: EngineProduct;
  /** For an engine that is named as one behind ssh, with the socket that it usually has there. */
  ssh?: { identity: SshIdentity; socket: string } | undefined;
  named: NamedEngine | undefined;
  /** Tried in this order when none is named. */
  sockets: readonly string[];
  /** Where its program may be, besides the directories of `PATH`. */
  programs: readonly string[];
  path: string | undefined;
  pingTimeoutMs?: number | undefined;
}

/** The usual ports of an engine, without and with TLS. */
const ports = { plain: 2375, tls: 2376 };

/**
 * The engine that answers. One that was configured is the only one that is tried: a sandbox must not turn up on another engine than the one that
 * was meant.
 */
export async function findEngine(search: Search): Promise<Engine> {
  const { product, named } = search;
  if (named) {
    const engine = new Engine(await addressOf(named, search), product);
    await answering(engine, search, named.by);
    return engine;
  }

  let denied: HermeticError | undefined;
  let silent: HermeticError | undefined;
  for (const path of search.sockets) {
    if (!(await exists(path))) continue;
    const engine = new Engine({ kind: 'unix', path }, product);
    try {
      await answering(engine, search);
      return engine;
    } catch (error) {
      engine.close();
      if (!(error instanceof HermeticError)) throw error;
      if (error.code === 'backend/not-permitted') denied ??= error;
      else silent ??= error;
    }
  }
  const failure = denied ?? silent;
  if (failure) throw failure;
  const program = await findProgram(search);
  if (program !== undefined) {
    throw new HermeticError('backend/not-running', `${product.name} is installed (${program}), but no engine is running.`, {
      hint: product.start,
    });
  }
  throw new HermeticError(
    'backend/not-installed',
    `${product.name} is not installed: there is no engine socket and no ${product.kind} program.`,
    { hint: product.install },
  );
}

async function addressOf({ host, by, certificates, usualCertificates }: NamedEngine, { product, ssh }: Search): Promise<EngineAddress> {
  const written = parseHost(host, by, product);
  if (written.kind === 'unix') return written;
  if (written.kind === 'ssh') {
    if (!ssh) throw new HermeticError('backend/unavailable', `${by} names ${host}, and ${product.name} is not used by ssh.`);
    const { target, path = ssh.socket } = written;
    return { kind: 'ssh', target, path, way: sshWay(target, path, ssh.identity) };
  }
  const wanted = certificates ?? (written.isTls ? { directory: usualCertificates ?? '', needsAuthority: false } : undefined);
  const { port = wanted ? ports.tls : ports.plain } = written;
  return { kind: 'tcp', host: written.host, port, ...(wanted && { tls: await readCertificates(wanted, product.name) }) };
}

async function findProgram({ product, programs, path = '' }: Search): Promise<string | undefined> {
  const directories = path.split(delimiter).filter((directory) => directory.startsWith('/'));
  for (const program of [...directories.map((directory) => join(directory, product.kind)), ...programs]) {
    try {
      await access(program, constants.X_OK);
      if ((await stat(program)).isFile()) return program;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
  return undefined;
}

/** `by` says who named the engine; without it the engine was found in a usual place. */
async function answering(engine: Engine, { product, pingTimeoutMs = 5000 }: Search, by?: string): Promise<void> {
  try {
    await engine.ping({ timeoutMs: pingTimeoutMs });
  } catch (error) {
    if (!(error instanceof HermeticError) || error.code !== 'backend/not-running') throw error;
    const { address, where } = engine;
    const isCut = ['ECONNRESET', 'EPIPE'].includes(errnoOf(error) ?? '');
    if (address.kind === 'tcp' && address.tls && isCut) throw closedError(where, product.name, error.cause);
    const isMissing = errnoOf(error) === 'ENOENT';
    const said = by === undefined ? '' : ` It was named by ${by}, so no other engine is looked for.`;
    const message = isMissing ? `There is no ${product.name} engine at ${where}.` : error.message;
    throw new HermeticError('backend/not-running', message + said, { hint: product.start ?? error.hint, cause: error.cause });
  }
}

/** A path that this user cannot stat belongs to another user. */
async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}
