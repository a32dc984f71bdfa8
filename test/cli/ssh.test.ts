import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { describeNeeding } from '../needs.ts';
import { startSshd } from '../sshd.ts';
import { Hermetic } from './hermetic.ts';

describeNeeding(['sshd'], 'the command line with a machine that is reached by ssh', async () => {
  const sshd = await startSshd();
  afterAll(() => sshd.remove());

  const variables = Object.fromEntries(
    Object.entries(sshd.options).map(([key, value]) => [`TERMINAL_${key.toUpperCase()}`, String(value)]),
  );

  await describeBackend(
    'ssh',
    () => {
      const hermetic = new Hermetic({ TERMINAL_ENV: 'ssh', ...variables });
      afterAll(() => rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));
      const doctor = (environment: Record<string, string> = {}) => hermetic.run(['doctor'], { environment });

      it('runs commands of a session on the remote machine, and removes its files there', async () => {
        const run = (command: string) => hermetic.run(['run', '--session', 'far', '--', command]);
        expect(await run('export KEPT=1; echo "$HOME" >file; pwd; exit 3')).toMatchObject({
          code: 3,
          stdout: expect.stringContaining(sshd.home),
        });
        expect(await run('cat file; echo "$KEPT"')).toMatchObject({ code: 0, stdout: `${sshd.home}\n1\n` });
        expect((await hermetic.run(['sandbox', 'list'])).stdout).toMatch(/far.*ssh|ssh.*far/s);
        expect(await hermetic.run(['sandbox', 'destroy', 'far'])).toMatchObject({ code: 0 });
        const [installation] = existsSync(join(sshd.home, '.hermetic/sandboxes'))
          ? readdirSync(join(sshd.home, '.hermetic/sandboxes'))
          : [];
        expect(installation).toBeUndefined();
      });

      it('says that credential files stay on the host', async () => {
        const environment = { TERMINAL_CREDENTIAL_FILES: '["token"]' };
        const { stdout, stderr } = await hermetic.run(['run', '--', 'echo ran'], { environment });
        expect([stdout, stderr]).toEqual([
          'ran\n',
          expect.stringContaining('terminal.credential_files stay outside: directories of this machine'),
        ]);
      });

      it('asks about commands on a remote machine that are not known to be harmless', async () => {
        const judge = async (command: string) => (await hermetic.run(['approvals', 'judge', command])).stdout;
        expect(await judge('ls -la')).toMatch(/allow/);
        expect(await judge('rm -rf ~/project')).toMatch(/ask/);
      });

      it('runs in the workspace of the session what a session may do there, and asks about the rest of the machine', async () => {
        const run = (command: string) => hermetic.run(['run', '--ask', '--', command]);
        expect(await run('touch f && mkdir -p a && echo text >a/g && rm f')).toMatchObject({ code: 0 });
        expect((await hermetic.run(['approvals', 'judge', 'git status'])).stdout).toMatch(/^allow/);
        expect(await run(`touch ${sshd.home}/outside`)).toMatchObject({ code: 4 });
        expect(await run('touch ../../beside')).toMatchObject({ code: 4 });
        expect(existsSync(join(sshd.home, 'outside'))).toBe(false);
      });

      it('doctor tells whether the remote machine can be used, and how to correct what is wrong', async () => {
        expect((await doctor()).stdout).toMatch(/ssh: usable.*127\.0\.0\.1/);
        expect((await doctor({ TERMINAL_SSH_PORT: '1' })).stdout).toMatch(/ssh: .*refuses connections to port 1.*Start sshd/s);
        expect((await doctor({ TERMINAL_SSH_KEY: '/nowhere/key' })).stdout).toMatch(/ssh: .*no key \/nowhere\/key/s);
        const { TERMINAL_SSH_HOST: _, ...rest } = hermetic.environment;
        const unset = new Hermetic({ ...rest, TERMINAL_ENV: 'ssh', HERMETIC_HOME: join(hermetic.home, 'other') });
        expect((await unset.run(['doctor'])).stdout).toMatch(/ssh: .*terminal\.ssh_host is not set/s);
        await rm(unset.home, { recursive: true, force: true });
      });

      it.each([
        ['TERMINAL_SSH_PORT', '70000', 'terminal.ssh_port'],
        ['TERMINAL_SSH_HOST', 'a host', 'terminal.ssh_host'],
        ['TERMINAL_SSH_USER', '-oProxyCommand=x', 'terminal.ssh_user'],
        ['TERMINAL_SSH_JUMP', 'a@b:c', 'terminal.ssh_jump'],
        ['TERMINAL_SSH_HOST_KEYS', 'no', 'terminal.ssh_host_keys'],
        ['TERMINAL_SSH_DIRECTORY', 'relative', 'terminal.ssh_directory'],
      ])('refuses %s=%s and names the key', async (name, value, key) => {
        expect(await hermetic.run(['run', '--', 'true'], { environment: { [name]: value } })).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(new RegExp(`${name}|${key}`)),
        });
      });

      it('refuses a network, an image and volumes that a remote machine cannot have, and runs nothing', async () => {
        const refused = async (environment: Record<string, string>, ...args: string[]) =>
          (await hermetic.run(['run', ...args, '--', `touch ${sshd.home}/ran`], { environment })).stderr;
        expect(await refused({ TERMINAL_NETWORK: 'none' })).toContain('which has its network');
        expect(await refused({ TERMINAL_NETWORK: 'restricted' })).toContain('cannot restrict');
        expect(await refused({ TERMINAL_DOCKER_VOLUMES: '["/tmp:/data"]' })).toContain('cannot be shown on a remote one');
        expect(await refused({}, '--image', 'debian')).toContain('no image');
        expect(existsSync(join(sshd.home, 'ran'))).toBe(false);
      });
    },
    { options: sshd.options },
  );
});
