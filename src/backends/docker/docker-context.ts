import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import { errnoOf } from '../engine/engine-errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The host of the context that `docker` itself would use, or undefined when that is the default one. */
export async function contextHost(environment: Environment, home: string): Promise<{ name: string; host: string } | undefined> {
  const directory = environment.DOCKER_CONFIG || join(home, '.docker');
  const name = environment.DOCKER_CONTEXT || (await currentContext(join(directory, 'config.json')));
  if (!name || name === 'default') {
    return undefined;
  }
  const meta = join(directory, 'contexts', 'meta', createHash('sha256').update(name).digest('hex'), 'meta.json');
  const host = field(field(field(await json(meta), 'Endpoints'), 'docker'), 'Host');
  if (typeof host !== 'string' || host === '') {
    throw new HermeticError('backend/unavailable', `The current Docker context is "${name}", but nothing says where its engine is.`, {
      hint: 'List the contexts with `docker context ls` and choose one with `docker context use NAME`.',
    });
  }
  return { name, host };
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
