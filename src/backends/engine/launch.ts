import { randomUUID } from 'node:crypto';
import type { ContainerEnd, CreateBody, Engine } from './engine.ts';

/** Makes a container and starts it once all is `ready` for that; resolves with its id. When it throws, none is left. */
export async function launchContainer(
  engine: Engine,
  name: string,
  body: CreateBody,
  signal?: AbortSignal,
  ready?: Promise<void>,
): Promise<string> {
  const id = await engine.createContainer(name, body, { signal, timeoutMs: 120_000 });
  try {
    await ready;
    await engine.start(id, { signal, timeoutMs: 120_000 });
    return id;
  } catch (error) {
    await engine.remove(id).catch((removal: unknown) => {
      throw new AggregateError([error, removal], `A container that did not start could not be removed: ${id}`, { cause: error });
    });
    throw error;
  }
}

/** Runs one of our own commands in a container of its own, and removes the container. */
export async function runContainer(engine: Engine, purpose: string, body: CreateBody): Promise<ContainerEnd> {
  const id = await launchContainer(engine, `hermetic-${purpose}-${randomUUID().slice(0, 8)}`, body);
  try {
    return await engine.wait(id);
  } finally {
    await engine.remove(id);
  }
}
