import { afterAll, afterEach, expect, it } from 'vitest';
import type { OpenListener, SandboxSpec } from '../../../src/core/sandbox.ts';
import { SandboxPool } from '../../../src/sandboxes/pool/pool.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { output, useCluster } from './rig.ts';

/** The line to wait in, when a quota of the cluster and not `gateway.max_sandboxes` is what is full. */
describeNeeding(['machines', 'openssl'], 'sandboxes in a cluster with a quota', async () => {
  const { cluster, backend, spec } = await useCluster();
  const program = backend({ kubernetes_storage: 'claim' });
  const specs = new Map<string, SandboxSpec>();
  const specOf = (session: string): SandboxSpec => {
    const known = specs.get(session) ?? spec();
    specs.set(session, known);
    return known;
  };
  const pool = new SandboxPool<string>({
    maxOpen: 8,
    idleMs: 60_000,
    backgroundMs: 0,
    nameOf: (session) => specOf(session).name,
    open: async (session, listener, signal) => {
      const sandbox = await program.open(specOf(session), listener, signal);
      return { sandbox, compare: async () => ({ differs: 'not' as const, env: {} }), stopAgain: async () => true };
    },
  });

  afterEach(() => {
    cluster.quota = undefined;
  });
  afterAll(() => pool.stop());

  const opened = async (session: string, told: string[] = []) => {
    const listener: OpenListener = { notice: (_text, inChat) => told.push(inChat ?? ''), progress: () => undefined };
    return (await pool.sandboxOf(session, listener).open()).sandbox;
  };

  it('ends an idle sandbox for a session that a quota leaves no room, and keeps its files', async () => {
    cluster.quota = 1;
    await output(await opened('first'), 'echo kept >file');
    expect(await output(await opened('second'), 'echo here')).toBe('here\n');
    expect(await output(await opened('first'), 'cat file')).toBe('kept\n');
  });

  it('lets a session wait, and says so in the chat, while all that a quota allows is in use', async () => {
    cluster.quota = 1;
    const first = pool.sandboxOf('first');
    const handle = await first.exec({ command: 'read -r line; echo "$line"', stdin: 'open' });
    const told: string[] = [];
    const second = opened('second', told);
    await until('it is told', () => told.some((text) => text.includes('waits for one')));
    await handle.write('done\n');
    for await (const _ of handle.output);
    expect(await output(await second, 'echo here')).toBe('here\n');
    expect(told.filter((text) => text.includes('waits'))).toHaveLength(1);
  });

  it('takes a session that gives up out of the line', async () => {
    cluster.quota = 0;
    const giveUp = new AbortController();
    const told: string[] = [];
    const waiting = pool.sandboxOf('third', { notice: (text) => told.push(text), progress: () => undefined }).open(giveUp.signal);
    waiting.catch(() => undefined);
    await until('it waits', () => told.some((text) => text.includes('This session waits.')));
    giveUp.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow();
    cluster.quota = undefined;
    expect(await output(await opened('third'), 'echo here')).toBe('here\n');
  });
});
