import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import type { Exit, LimitHit, OpenSandbox } from '../../src/core/sandbox.ts';
import { createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { run } from '../../src/shell/run.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';

/** Everything here is bounded: by the limit under test, by a size, and by a time. */
for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, ({ context }) => {
    const home = mkdtempSync(join(tmpdir(), `hermetic-limits-${kind}-`));
    const app = createApp({
      environment: {
        HOME: home,
        HERMETIC_HOME: join(home, '.hermetic'),
        TERMINAL_DOCKER_IMAGE: context.docker.image,
        TERMINAL_CONTAINER_MEMORY: '192',
        TERMINAL_CONTAINER_PIDS: '64',
        TERMINAL_CONTAINER_CPU: '0.5',
        TERMINAL_CONTAINER_DISK: '64',
        TERMINAL_NETWORK: 'none',
        TERMINAL_ENV: kind,
      },
    });
    const notices: string[] = [];
    let opened: OpenSandbox | undefined;
    const sandbox = async (): Promise<OpenSandbox> => {
      const listener = { notice: (text: string) => notices.push(text), progress: () => undefined };
      opened ??= (await app.openSandbox({ ...cliSession('limits'), backend: kind }, listener)).sandbox;
      return opened;
    };
    const text = async (
      command: string,
      timeoutMs = 20_000,
    ): Promise<{
      output: string;
      end: Exit['kind'] | 'timeout' | 'interrupted';
      code: number | undefined;
      troubles: readonly LimitHit[];
    }> => {
      const handle = await (await sandbox()).exec({ command });
      let output = '';
      const end = await run(handle, {
        timeoutMs,
        onOutput: ({ data }) => {
          output += data.toString();
        },
      });
      return { output, end: end.kind, code: end.kind === 'exited' ? end.code : undefined, troubles: await handle.troubles() };
    };
    const stillUsable = async (): Promise<void> =>
      expect(await text('echo usable')).toMatchObject({ output: 'usable\n', code: 0, troubles: [] });

    afterAll(async () => {
      await opened?.destroy();
      await app.sandboxes.stop();
      for (const remains of await (app.candidates(kind)[0]?.list() ?? [])) await remains.destroy();
      await app.close();
      await removeTree(home);
    });

    it('kills and reports a memory hog, and the sandbox stays usable', async () => {
      const { output, code, end, troubles } = await text('head -c 1000000000 /dev/zero | tail -c 900000000 | wc -c');
      expect(output.trim()).not.toBe('900000000');
      expect([code !== 0, end !== 'exited', /[Kk]illed/.test(output), output.trim() === '0']).toContain(true);
      expect(troubles).toEqual(['out-of-memory']);
      await stillUsable();
    });

    it('explains on the command line that a command ran out of memory, and exits with 137', async () => {
      const hermetic = new Hermetic({
        TERMINAL_ENV: kind,
        TERMINAL_DOCKER_IMAGE: context.docker.image,
        TERMINAL_CONTAINER_MEMORY: '96',
        TERMINAL_NETWORK: 'none',
      });
      const hog = 'set -o pipefail; head -c 300000000 /dev/zero | tail -c 290000000';
      expect(await hermetic.run(['run', '--', hog])).toMatchObject({ code: 137, stderr: expect.stringContaining('ran out of memory') });
      await hermetic.run(['sandbox', 'destroy', 'default']);
      await removeTree(hermetic.home);
    });

    it('holds and reports processes at the limit, and the sandbox stays usable', async () => {
      const fill = (timeoutMs: number) =>
        text('fork() { for n in 1 2 3 4; do sleep 15 & done; }; for n in {1..60}; do fork 2>>crowded; done; wait', timeoutMs);
      let filled = await fill(6_000);
      // On a slow machine it may be ended before there was no room; bash says when there is none.
      const isCrowded = filled.end !== 'timeout' || (await text('grep -q retry crowded && echo yes')).output === 'yes\n';
      if (!isCrowded) filled = await fill(20_000);
      const { end, troubles } = filled;
      expect(['exited', 'timeout', 'signaled', 'lost']).toContain(end);
      expect(troubles).toEqual(['out-of-processes']);
      await text("kill -9 $(grep -lz sleep /proc/[0-9]*/comm 2>/dev/null | tr '\\0' '\\n' | cut -d/ -f3) 2>/dev/null; rm crowded");
      await stillUsable();
    });

    it.runIf(kind === 'docker')('reports a sandbox without room for a shell, and makes it again with its files', async () => {
      const told: string[] = [];
      const { sandboxes } = app;
      const session = sandboxes.of('crowded', { notice: (line) => told.push(line), progress: () => undefined });
      await session.writeFile('kept', 'content');
      const fill = `
        for group in /sys/fs/cgroup/pids /sys/fs/cgroup; do [[ -r $group/pids.current ]] && break; done
        while read -r now <"$group/pids.current" && ((now < 62)); do sleep 1000 & done`;
      // A shell that waited already may still take a command, and what was counted while it ended leaves room for another.
      const refused = await until('there is no room', async () => {
        for (const command of [fill, ':']) {
          const result = await sandboxes.run('crowded', command);
          if (result.end.kind === 'lost') return result;
        }
        return undefined;
      });
      expect(refused).toMatchObject({ end: { kind: 'lost', reason: expect.stringContaining('no room') }, troubles: ['out-of-processes'] });
      await until('it is made again', async () => {
        for (const command of [fill, ':']) await sandboxes.run('crowded', command);
        return /no room for another process.*made again/.test(told.join());
      });
      const listed = await until('it works again', async () => {
        const { end, stdout } = await sandboxes.run('crowded', 'ls');
        return end.kind === 'exited' && stdout;
      });
      expect(listed).toBe('kept\n');
      await session.destroy();
    });

    it('kills a command that fills the disk, and its files can be removed afterwards', async () => {
      const { end } = await text(
        'for n in {1..300}; do head -c 4000000 /dev/zero >> /workspace/big || break; sleep 0.05; done; echo finished',
      );
      expect(end).not.toBe('timeout');
      // What is said of it is known when all of it is dead.
      await until('somebody is told', () => notices.some((text) => text.includes('Remove files')));
      expect(await text('rm /workspace/big && ls /workspace')).toMatchObject({ output: '', code: 0 });
      await stillUsable();
    });

    it('limits a busy loop to its share of the processor', async () => {
      const { output } = await text(
        `read -r before _ </proc/uptime; end=$((\${before%.*} + 3)); while read -r now _ </proc/uptime; ((\${now%.*} < end)); do :; done; times`,
      );
      const [, minutes = '', seconds = ''] = /(\d+)m([\d.]+)s/.exec(output) ?? [];
      const [, , , systemMinutes = '', systemSeconds = ''] = /(\d+)m([\d.]+)s (\d+)m([\d.]+)s/.exec(output) ?? [];
      const used = Number(minutes) * 60 + Number(seconds) + Number(systemMinutes || 0) * 60 + Number(systemSeconds || 0);
      // Half a processor for three to four seconds, and some tolerance for the accounting.
      expect(used).toBeLessThan(2.9);
    });
  });
}
