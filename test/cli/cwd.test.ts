import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { contextIn } from '../backends.ts';
import { describeBackend } from '../engines.ts';
import { Hermetic } from './hermetic.ts';

const { image } = contextIn('/nowhere').docker;
/** `deep` cannot be made by any user inside. */
const impossible = '/proc/deep';

interface Expected {
  home: string;
  workspace: string;
}

async function describeDirectory(kind: string, expected: (hermetic: Hermetic) => Expected): Promise<void> {
  await describeBackend(kind, () => {
    const hermetic = new Hermetic({ TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: image });
    const { home, workspace } = expected(hermetic);
    const sessions: string[] = [];
    const run = (cwd: string, command: string, session = cwd) => {
      sessions.push(session);
      return hermetic.run(['run', '--session', session, '--', command], { environment: { TERMINAL_CWD: cwd } });
    };
    afterAll(async () => {
      await Promise.all([...new Set(sessions)].map((session) => hermetic.run(['sandbox', 'destroy', session])));
      await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
    });

    it.each([
      ['.', workspace],
      ['~', home],
      ['~/made/for it', `${home}/made/for it`],
      ['made/below', `${workspace}/made/below`],
      ['/tmp', '/tmp'],
    ])('starts commands in %s', async (cwd, directory) => {
      expect(await run(cwd, 'pwd; touch here && test -O here && rm here')).toMatchObject({ code: 0, stdout: `${directory}\n` });
    });

    it('starts the next command in the directory to which the session moved', async () => {
      expect((await run('~/a', 'mkdir b; cd b', 'moving')).code).toBe(0);
      expect((await run('~/a', 'pwd', 'moving')).stdout).toBe(`${home}/a/b\n`);
    });

    it('refuses a directory that cannot be made, and runs nothing', async () => {
      const outcome = await run(impossible, 'touch ~/ran');
      expect(outcome).toMatchObject({ code: 2, stdout: '' });
      expect(outcome.stderr).toMatch(/terminal\.cwd: the sandbox cannot start in \/proc\/deep: mkdir: .*\nhint: /);
      const listed = JSON.parse((await hermetic.run(['sandbox', 'list', '--json'])).stdout) as { session: string; state: string }[];
      expect(listed.find(({ session }) => session.includes(impossible))?.state).not.toBe('running');
      expect(await run('.', 'test -e ~/ran || echo nothing', impossible)).toMatchObject({ code: 0, stdout: 'nothing\n' });
      if (kind === 'local') expect(existsSync(join(hermetic.home, 'ran'))).toBe(false);
    });

    it('refuses the home of another user by name', async () => {
      expect(await run('~root', 'pwd')).toMatchObject({ code: 2, stderr: expect.stringContaining('TERMINAL_CWD') });
    });
  });
}

await describeDirectory('local', ({ home }) => ({ home, workspace: home }));
await describeDirectory('bubblewrap', () => ({ home: '/home/agent', workspace: '/workspace' }));
await describeDirectory('docker', () => ({ home: '/root', workspace: '/workspace' }));
