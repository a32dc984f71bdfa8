import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import type { Sandbox } from '../../src/core/sandbox.ts';
import { createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';
import { describeBackend } from '../engines.ts';

async function text(sandbox: Sandbox, command: string): Promise<string> {
  const handle = await sandbox.exec({ command });
  let output = '';
  for await (const { data } of handle.output) output += data.toString();
  await handle.exit;
  return output;
}

/** What every process of the machine was started with, in containers too: its words and its environment. */
function processes(): string {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return ''; // it has ended
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`)])
    .join('\n');
}

function filesWith(directory: string, word: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, 'latin1').includes(word));
}

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, ({ context }) => {
    const home = mkdtempSync(join(tmpdir(), `hermetic-bound-${kind}-`));
    const directory = join(home, '.hermetic');
    const value = `ghp_${randomBytes(18).toString('hex')}`;
    afterAll(() => removeTree(home));

    const open = (network: string, told: string[] = []) => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, '.env'), `SERVICE_TOKEN=${value}\n`, { mode: 0o600 });
      const app = createApp({
        environment: {
          HOME: home,
          HERMETIC_HOME: directory,
          TERMINAL_DOCKER_IMAGE: context.docker.image,
          TERMINAL_NETWORK: network,
          TERMINAL_DOCKER_ENV: '{"PIP_CERT": "/own.pem"}',
          HERMETIC_SECRETS: '{"SERVICE_TOKEN": {"hosts": ["api.example.com"]}}',
        },
      });
      const listener = { notice: (line: string) => told.push(line), progress: (line: string) => told.push(line) };
      return { app, told, opening: app.openSandbox({ ...cliSession(`bound-${network}`), backend: kind }, listener) };
    };

    it('the value of a bound secret is in .env and nowhere else: not inside, not in a process, a label, a file or the database', async () => {
      const { app, told, opening } = open('restricted');
      const { sandbox, fingerprint, spec } = await opening;
      try {
        const running = await sandbox.exec({ command: 'export OWN=$SERVICE_TOKEN; sleep 60' });
        expect(await text(sandbox, 'printenv SERVICE_TOKEN')).toMatch(/^ghp_hmtc[a-z0-9]{32}\n$/);
        expect(await text(sandbox, 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"; env')).not.toContain(value);
        const search = `grep -rlF -- "$(printf %s '${value.slice(0, 20)}')""$(printf %s '${value.slice(20)}')" /tmp /var/tmp /run /workspace /opt ~ 2>/dev/null`;
        expect(await text(sandbox, search)).toBe('');
        expect(processes()).not.toContain(value);
        if (kind === 'docker') {
          const containers = execFileSync('docker', ['ps', '-aq', '--filter', `name=${spec.name}`])
            .toString()
            .split('\n')
            .filter(Boolean);
          expect(containers).toHaveLength(1);
          expect(execFileSync('docker', ['inspect', ...containers]).toString()).not.toContain(value);
        }
        await running.kill('KILL');
        await text(sandbox, 'export CHANGED=1');
        expect(filesWith(home, value)).toEqual([join(directory, '.env')]);
        expect(JSON.stringify([spec, fingerprint, told])).not.toContain(value);
        expect(app.redact(`the value is ${value}.`)).toBe('the value is [redacted].');
        expect(app.redact(`the placeholder is ${spec.env.SERVICE_TOKEN}.`)).toBe(`the placeholder is ${spec.env.SERVICE_TOKEN}.`);
      } finally {
        await sandbox.destroy();
        await app.close();
      }
      expect(filesWith(home, value)).toEqual([join(directory, '.env')]);
    });

    it('programs inside can read the trust files and not change them, and variables of the user win over those of trust', async () => {
      const { app, opening } = open('restricted');
      const { sandbox } = await opening;
      try {
        const files = 'authority.pem roots.pem roots.jks wgetrc apt.conf';
        expect(
          await text(
            sandbox,
            `cd /opt/hermetic/trust && for file in ${files}; do test -s $file && cat $file >/dev/null && echo $file; done`,
          ),
        ).toBe(`${files.replaceAll(' ', '\n')}\n`);
        expect(
          await text(sandbox, 'touch /opt/hermetic/trust/new /opt/hermetic/trust/roots.pem 2>&1; ls -A /opt/hermetic/trust | wc -l'),
        ).toMatch(/\n5\n$/);
        expect(await text(sandbox, 'test -f "$CURL_CA_BUNDLE" && test -f "$NODE_EXTRA_CA_CERTS" && echo found; echo $PIP_CERT')).toBe(
          'found\n/own.pem\n',
        );
        expect(await text(sandbox, 'grep -c "PRIVATE KEY" -r /opt/hermetic | grep -v ":0$"')).toBe('');
      } finally {
        await sandbox.destroy();
        await app.close();
      }
    });

    it('a sandbox whose network is not restricted gets neither the value nor a placeholder', async () => {
      const { app, told, opening } = open('none');
      const { sandbox } = await opening;
      try {
        expect(await text(sandbox, 'printenv SERVICE_TOKEN CURL_CA_BUNDLE; ls /opt/hermetic/trust 2>/dev/null')).toBe('');
        expect(told.join('\n')).toContain('Secrets stay outside (SERVICE_TOKEN)');
      } finally {
        await sandbox.destroy();
        await app.close();
      }
    });
  });
}
