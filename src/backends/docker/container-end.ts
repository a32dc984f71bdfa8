import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../../lib/error-text.ts';
import type { Engine } from './engine.ts';

const attempts = 5;
const pauseMs = 1_000;

/** Resolves with the reason when the container has ended. A cut connection is none: the container is looked for again. */
export async function containerEnd(engine: Engine, id: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    try {
      return (await engine.wait(id, { signal })).reason;
    } catch (error) {
      const state = await lookAgain(engine, id, signal);
      if (state !== 'running') return state ?? errorText(error);
    }
  }
}

/** undefined when the engine does not answer. */
async function lookAgain(engine: Engine, id: string, signal: AbortSignal): Promise<string | undefined> {
  for (let attempt = 0; attempt < attempts && !signal.aborted; attempt++) {
    try {
      const found = await engine.inspect(id, { signal });
      if (!found) return 'the container was removed';
      return found.running ? 'running' : `the container stopped with code ${found.exitCode}`;
    } catch {
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
  return undefined;
}
