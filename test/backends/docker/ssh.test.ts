import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findDocker } from '../../../src/backends/docker/discover.ts';
import { contextIn } from '../../backends.ts';
import { exitsContract } from '../../contracts/sandbox/exits.ts';
import { filesContract } from '../../contracts/sandbox/files.ts';
import { killContract } from '../../contracts/sandbox/kill.ts';
import { describeBackend } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { makeKey, startSshd } from '../../sshd.ts';

describeNeeding(['sshd'], 'an engine that is reached by ssh', async () => {
  const sshd = await startSshd();
  const root = mkdtempSync(join(tmpdir(), 'hermetic-docker-ssh-'));
  const host = `ssh://${sshd.user}@127.0.0.1:${sshd.port}`;
  const known = `[127.0.0.1]:${sshd.port} ${readFileSync(join(sshd.directory, 'host.pub'), 'utf8')}`;
  afterAll(async () => {
    rmSync(root, { recursive: true });
    await sshd.remove();
  });

  /** A home with a key and a file of known hosts. */
  const home = (name: string, key: string, knownHosts: string): string => {
    const directory = join(root, name, '.ssh');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    copyFileSync(key, join(directory, 'id_ed25519'));
    writeFileSync(join(directory, 'known_hosts'), knownHosts);
    return join(root, name);
  };
  const find = async (HOME: string, dockerHost: string) => {
    const engine = await findDocker({ environment: { HOME, PATH: '' }, dockerHost });
    return await engine.info().finally(() => engine.close());
  };
  const ownHome = home('own', sshd.key, known);
  const { environment } = contextIn(root);

  await describeBackend(
    'docker',
    (engine) => {
      describe('exit codes', () => exitsContract(engine));
      describe('killing commands', () => killContract(engine));
      describe('files', () => filesContract(engine));

      it('finds an engine by ssh, by its usual socket and by a path', async () => {
        expect(await find(ownHome, host)).toMatchObject({ OSType: 'linux' });
        expect(await find(ownHome, `${host}/var/run/docker.sock`)).toMatchObject({ OSType: 'linux' });
      });

      it('refuses a host whose key is not known, or is another one', async () => {
        await expect(find(home('new', sshd.key, ''), host)).rejects.toMatchObject({ code: 'backend/unavailable' });
        makeKey(join(root, 'other'));
        const other = `[127.0.0.1]:${sshd.port} ${readFileSync(join(root, 'other.pub'), 'utf8')}`;
        await expect(find(home('misled', sshd.key, other), host)).rejects.toMatchObject({ code: 'backend/unavailable' });
      });

      it('says when the host does not let us in, or has no engine at the socket', async () => {
        const stranger = home('stranger', join(root, 'other'), known);
        await expect(find(stranger, host)).rejects.toMatchObject({ code: 'backend/not-permitted' });
        await expect(find(ownHome, `${host}/run/none.sock`)).rejects.toMatchObject({
          code: expect.stringMatching(/^backend\//),
          message: expect.stringMatching(/\/run\/none\.sock/),
        });
      });

      it('cannot restrict a network by ssh, and says why', async () => {
        expect(await engine.backend.canRestrict()).toMatch(/over ssh/);
      });
    },
    {
      title: 'docker by ssh',
      docker: { docker_host: host },
      environment: { ...environment, HOME: ownHome },
      maxBytesAhead: 32 * 1024 * 1024,
    },
  );
});
