import type { CreateBody, Engine } from './engine.ts';

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
