import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { type BackgroundEvent, type CallOrigin, createToolbox } from '../src/index.ts';
import { describeBackend } from './engines.ts';
import { until } from './until.ts';

for (const kind of ['local', 'bubblewrap']) {
  await describeBackend(kind, () => {
    it('reports background processes to a program, without secrets', async () => {
      const home = mkdtempSync(join(tmpdir(), 'hermetic-library-'));
      const environment = { PATH: process.env.PATH, HOME: home, HERMETIC_HOME: join(home, '.hermetic'), TERMINAL_ENV: kind };
      const heard: BackgroundEvent[] = [];
      const secret = 'sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz';
      const toolbox = createToolbox({ environment, session: 'background', onBackground: (event) => void heard.push(event) });
      try {
        const command = `sleep 0.3; echo server ready; echo ${secret.slice(0, 12)}''${secret.slice(12)}; exit 4`;
        const origin: CallOrigin = { source: 'cli', role: 'admin', approver: { ask: async () => ({ kind: 'once', by: 'me' }) } };
        const call = (name: string, input: object) => toolbox.call(name, input, { origin });
        await call('terminal', { command, background: true, notify_on: ['ready'] });
        await until('its end is told', () => heard.some((event) => event.kind === 'ended'));
        expect(heard).toMatchObject([
          { kind: 'started', command, patterns: ['ready'] },
          { kind: 'matched', pattern: 'ready', line: 'server ready' },
          { kind: 'ended', outcome: 'exited with code 4', exitCode: 4, output: expect.stringContaining('server ready'), isKnown: false },
        ]);
        expect(JSON.stringify(heard)).not.toContain(secret);
        await call('terminal', { command: 'sleep 1000', background: true });
        await call('process', { action: 'kill', id: heard.at(-1)?.process });
        await until('its end is told', () => heard.filter((event) => event.kind === 'ended').length === 2);
        expect(heard.at(-1)).toMatchObject({ kind: 'ended', isKnown: true });
      } finally {
        await toolbox.close();
        await removeTree(home);
      }
    });
  });
}
