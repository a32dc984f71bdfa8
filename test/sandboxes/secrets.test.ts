import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import type { Sandbox } from '../../src/core/sandbox.ts';
import { createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { describeBackend } from '../engines.ts';
import { commandLines } from '../processes.ts';

async function text(sandbox: Sandbox, command: string): Promise<string> {
  const handle = await sandbox.exec({ command });
  let output = '';
  for await (const { data } of handle.output) output += data.toString();
  await handle.exit;
  return output;
}

function filesWith(directory: string, word: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, 'latin1').includes(word));
}

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, ({ context }) => {
    const home = mkdtempSync(join(tmpdir(), `hermetic-secrets-${kind}-`));
    afterAll(() => removeTree(home));

    it('shows a forwarded secret in the environment inside and nowhere else', async () => {
      const secret = `planted-${randomBytes(12).toString('hex')}`;
      const hidden = `hidden-${randomBytes(12).toString('hex')}`;
      const told: string[] = [];
      const app = createApp({
        environment: {
          HOME: home,
          HERMETIC_HOME: join(home, '.hermetic'),
          TERMINAL_DOCKER_IMAGE: context.docker.image,
          TERMINAL_DOCKER_FORWARD_ENV: '["SERVICE_TOKEN"]',
          TERMINAL_ENV_PASSTHROUGH: '["OTHER_TOKEN"]',
          SERVICE_TOKEN: secret,
          OTHER_TOKEN: hidden,
          UNNAMED: hidden,
        },
      });
      const listener = { notice: (line: string) => told.push(line), progress: (line: string) => told.push(line) };
      const { sandbox } = await app.openSandbox({ ...cliSession('secret'), backend: kind }, listener);
      try {
        const running = await sandbox.exec({ command: 'export OWN=1; sleep 60' });
        expect(await text(sandbox, 'printenv SERVICE_TOKEN')).toBe(`${secret}\n`);
        expect(await text(sandbox, 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"')).not.toContain(hidden);
        expect(commandLines()).not.toContain(secret);
        expect(await text(sandbox, 'grep -rl "$SERVICE_TOKEN" /tmp /var/tmp /run /workspace ~ 2>/dev/null')).toBe('');
        await running.kill('KILL');
        await text(sandbox, 'export CHANGED=1');
        expect(filesWith(home, secret)).toEqual([]);
        expect(told.join('\n')).not.toContain(secret);
        expect(told.join('\n')).toContain('OTHER_TOKEN looks like a credential');
      } finally {
        await sandbox.destroy();
        await app.close();
      }
    });
  });
}
