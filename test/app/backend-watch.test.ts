import { expect, it } from 'vitest';
import type { App } from '../../src/app/app.ts';
import { BackendWatch, type Found } from '../../src/app/backend-watch.ts';
import type { SandboxStatus } from '../../src/app/status/sandbox-status.ts';
import { loadConfig } from '../../src/config/load.ts';

const loaded = loadConfig({ environment: { HOME: '/nowhere', HERMETIC_HOME: '/nowhere/home' } });
const nothing = { audience: 'messaging', configured: 'docker', unusable: [], limits: {} } as unknown as SandboxStatus;
const working = { ...nothing, backend: { kind: 'docker', traits: { isolation: 'container' } } } as unknown as SandboxStatus;

/** A watch of an app whose backend works when a test says so, and whose sandboxes begin as often as it says. */
function watched(found: Found, status = found.works ? working : nothing) {
  const now = { status, starts: 0, checks: 0, failures: 0 };
  const log: string[] = [];
  let known = now.status;
  const app = {
    loaded,
    sandboxStatus: {
      get lastKnown() {
        return { status: known, warning: undefined };
      },
      checkNow: async () => {
        now.checks += 1;
        known = now.status;
        return { status: known, warning: undefined };
      },
    },
    sandboxes: {
      start: async () => {
        now.starts += 1;
        if (now.starts <= now.failures) throw new Error('the ledger is held');
        return [];
      },
    },
  } as unknown as App;
  const learn = (): void => {
    known = now.status;
  };
  return { now, log, learn, watch: new BackendWatch(app, found, (line) => void log.push(line)) };
}

it('a backend that works is not tried again, and one that does not at every look', async () => {
  const { now, watch } = watched({ works: false, isSwept: true });
  await watch.look();
  await watch.look();
  expect(now).toMatchObject({ checks: 2, starts: 0 });
  now.status = working;
  for (let look = 0; look < 3; look++) await watch.look();
  expect(now).toMatchObject({ checks: 3, starts: 1 });
});

it('sandboxes that could not begin when a backend came begin at a later look, and why not is told once', async () => {
  const { now, watch, log } = watched({ works: false, isSwept: true });
  Object.assign(now, { status: working, failures: 3 });
  for (let look = 0; look < 6; look++) await watch.look();
  expect(now.starts).toBe(4);
  expect(log.filter((line) => line.includes('the ledger is held'))).toHaveLength(1);
});

it('sandboxes that could not begin with the gateway begin at a later look', async () => {
  const { now, watch } = watched({ works: true, isSwept: false });
  await watch.look();
  await watch.look();
  expect(now).toMatchObject({ checks: 0, starts: 1 });
});

it('sandboxes begin with a backend that came while the gateway started', async () => {
  const { now, watch } = watched({ works: false, isSwept: true }, working);
  await watch.look();
  expect(now).toMatchObject({ checks: 0, starts: 1 });
});

it('sandboxes begin again with a backend that went and came back, and not with one that stayed', async () => {
  const { now, watch, log, learn } = watched({ works: true, isSwept: true });
  await watch.look();
  expect(now.starts).toBe(0);
  now.status = nothing;
  learn();
  await watch.look();
  expect(log[0]).toMatch(/^Chat sessions cannot run/);
  now.status = working;
  await watch.look();
  await watch.look();
  expect(now.starts).toBe(1);
});
