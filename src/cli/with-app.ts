import type { App } from '../app/app.ts';
import type { CliIo } from './io.ts';
import { appOf } from './session-options.ts';

/** For commands that only look at, or change, what is stored. */
export async function withApp<T>(io: CliIo, work: (app: App) => Promise<T>): Promise<T> {
  const app = appOf(io);
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
