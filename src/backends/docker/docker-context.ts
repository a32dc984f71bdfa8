import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import type { Certificates } from '../engine/certificates.ts';
import { errnoOf } from '../engine/errno.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface ContextEngine {
  name: string;
  host: string;
  /** Those that came with the context. */
  certificates: Certificates | undefined;
}

/** The engine of the context that `docker` itself would use, or undefined when that is the default one. */
export async function contextEngine(environment: Environment, home: string): Promise<ContextEngine | undefined> {
  const directory = environment.DOCKER_CONFIG || join(home, '.docker');
  const name = environment.DOCKER_CONTEXT || (await currentContext(join(directory, 'config.json')));
  if (!name || name === 'default') {
    return undefined;
  }
  const hash = createHash('sha256').update(name).digest('hex');
  const endpoint = field(field(await json(join(directory, 'contexts', 'meta', hash, 'meta.json')), 'Endpoints'), 'docker');
  const host = field(endpoint, 'Host');
  if (typeof host !== 'string' || host === '') {
    throw new HermeticError('backend/unavailable', `The current Docker context is "${name}", but nothing says where its engine is.`, {
      hint: 'List the contexts with `docker context ls` and choose one with `docker context use NAME`.',
    });
  }
  // Security: any machine on the way could pose as the engine, and what runs in its containers would be its own.
  if (field(endpoint, 'SkipTLSVerify') === true && !host.startsWith('unix:')) {
    throw new HermeticError(
      'backend/unavailable',
      `The Docker context "${name}" does not verify its engine (skip-tls-verify), so it is not used.`,
      {
        hint: `Give the context the authority of the engine: docker context update ${name} --docker "host=${host},ca=FILE"`,
      },
    );
  }
  const tls = join(directory, 'contexts', 'tls', hash, 'docker');
  return { name, host, certificates: (await isThere(tls)) ? { directory: tls, needsAuthority: false } : undefined };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

async function currentContext(path: string): Promise<string | undefined> {
  const name = field(await json(path), 'currentContext');
  return typeof name === 'string' ? name : undefined;
}

/** undefined when there is no such file for this user. */
async function json(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '')) {
      return undefined;
    }
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HermeticError('backend/unavailable', `${path} is not valid JSON, so the Docker engine is unknown.`, {
      hint: 'Repair the file, or say which engine to use in DOCKER_HOST.',
      cause: error,
    });
  }
}

function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
