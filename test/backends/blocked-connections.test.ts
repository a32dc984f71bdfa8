import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openChildProcessSandbox } from '../../src/backends/child-process-sandbox.ts';
import type { BlockedConnection, Connections, Door } from '../../src/core/egress.ts';
import type { OpenSandbox } from '../../src/core/sandbox.ts';
import { forkerCommand, noLease } from '../../src/shell/pipes/run-directory.ts';
import { specWith } from '../sandbox-spec.ts';

/** Answers each watch with the connections that failed since it began, as the door of a sandbox does. */
class WatchedNetwork implements Pick<Door, 'watch' | 'lost'> {
  readonly lost = new Promise<string>(() => undefined);
  readonly failed: BlockedConnection[] = [];
  asked = 0;

  watch(): () => Promise<Connections> {
    const begun = this.failed.length;
    return async () => {
      this.asked += 1;
      return { blocked: this.failed.slice(begun), allowed: [] };
    };
  }
}

describe('blocked connections of a command', () => {
  let directory: string;
  let sandbox: OpenSandbox | undefined;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'hermetic-blocked-'));
  });

  afterEach(async () => {
    await sandbox?.destroy();
    rmSync(directory, { recursive: true, force: true });
  });

  const open = async (network: WatchedNetwork | undefined): Promise<OpenSandbox> => {
    const spec = specWith({ directory: join(directory, 'sandbox'), network: undefined, persistent: false, backgroundSeconds: 60 });
    sandbox = await openChildProcessSandbox({
      spec,
      workdir: '/',
      endDeadlineMs: 3_000,
      start: async (run) => {
        const [program = '', ...args] = forkerCommand(run, noLease, { processes: 'shared' });
        const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: homedir() };
        const child = spawn(program, args, { cwd: '/', env, stdio: 'ignore', detached: true });
        return { child, limits: undefined, network, release: async () => undefined };
      },
    });
    return sandbox;
  };

  const connection = (host: string): BlockedConnection => ({ host, port: 443, reason: 'unlisted', count: 1 });

  it('tells a command only of connections that failed while it ran', async () => {
    const network = new WatchedNetwork();
    const opened = await open(network);
    network.failed.push(connection('before.example'));
    const first = await opened.exec({ command: 'cat', stdin: 'open' });
    network.failed.push(connection('during.example'));
    first.closeStdin();
    for await (const _ of first.output);
    expect((await first.connections()).blocked).toEqual([connection('during.example')]);
    const next = await opened.exec({ command: 'true' });
    expect((await next.connections()).blocked).toEqual([]);
  });

  it('answers after the exit, and again with connections that failed later', async () => {
    const network = new WatchedNetwork();
    const handle = await (await open(network)).exec({ command: 'cat', stdin: 'open' });
    const answer = handle.connections();
    network.failed.push(connection('during.example'));
    expect(network.asked).toBe(0);
    handle.closeStdin();
    for await (const _ of handle.output);
    expect((await answer).blocked).toEqual([connection('during.example')]);
    network.failed.push(connection('later.example'));
    expect((await handle.connections()).blocked).toEqual([connection('during.example'), connection('later.example')]);
  });

  it('reports no blocked connection where the network is not restricted', async () => {
    const handle = await (await open(undefined)).exec({ command: 'true' });
    expect((await handle.connections()).blocked).toEqual([]);
  });
});
