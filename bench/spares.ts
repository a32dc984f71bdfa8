import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { createApp } from '../src/index.ts';

const rounds = 12;

/** How long a new session waits for its first command to be possible, with a spare and without. */
export async function firstOpenings(kind: string, image: string): Promise<{ claimedMs: number[]; openedMs: number[] }> {
  const home = await mkdtemp(join(tmpdir(), 'hermetic-bench-spares-'));
  const { PATH, DOCKER_HOST } = process.env;
  const base = { PATH, DOCKER_HOST, HOME: home, HERMETIC_HOME: home, TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: image };
  const measure = async (spares: string): Promise<number[]> => {
    const app = createApp({ environment: { ...base, TERMINAL_WARM_SPARES: spares } });
    const times: number[] = [];
    try {
      for (let round = 0; round < rounds; round++) {
        await app.sandboxes.prepare();
        const sandbox = app.sandboxes.of(`session ${spares} ${round}`);
        const start = performance.now();
        await sandbox.open();
        // The first one also proves the settings, once.
        if (round > 0) times.push(performance.now() - start);
        await sandbox.destroy();
      }
      return times;
    } finally {
      await app.close();
    }
  };
  try {
    return { openedMs: await measure('0'), claimedMs: await measure('1') };
  } finally {
    await removeTree(home);
  }
}
