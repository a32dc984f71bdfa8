import { rm } from 'node:fs/promises';
import { expect } from 'vitest';
import { describeBackend } from '../engines.ts';
import { itNeeding } from '../needs.ts';
import { Hermetic } from './hermetic.ts';

const request = String.raw`GET http://granted.example/ HTTP/1.1\r\nHost: granted.example\r\nConnection: close\r\n\r\n`;
const connect = `exec 3<>/dev/tcp/127.0.0.1/3128; printf '${request}' >&3; cat <&3`;
const blocked = 'granted.example:80 is blocked: no rule of network.allow or network.presets allows it.';
/** It was allowed, so the name was looked up. */
const allowed = 'granted.example:80 cannot be reached: its name has no address.';

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, ({ context }) => {
    itNeeding(
      kind === 'bubblewrap' ? ['restricted-network'] : [],
      'a grant of the command line opens a host in its session alone until it is forgotten, and the log tells',
      async () => {
        const hermetic = new Hermetic({
          TERMINAL_ENV: kind,
          TERMINAL_NETWORK: 'restricted',
          TERMINAL_DOCKER_IMAGE: context.docker.image,
        });
        const reach = async (session: string) => (await hermetic.run(['run', '--session', session, '--', connect])).stdout;
        const network = async (...args: string[]) => (await hermetic.run(['network', ...args])).stdout;
        expect(await reach('work')).toContain(blocked);
        expect(await network('allow', 'granted.example', '--session', 'work')).toContain(
          'granted.example:80 and granted.example:443 are allowed',
        );
        expect(await reach('work')).toContain(allowed);
        expect(await reach('other')).toContain(blocked);
        expect(await network('forget', 'granted.example:80')).toContain('revoked: the grant for granted.example:80');
        expect(await reach('work')).toContain(blocked);
        const records = JSON.parse(await network('log', '--json')) as { session: string; outcome: string; reason: string }[];
        expect(records.map(({ session, outcome, reason }) => [session, outcome, reason])).toEqual([
          ['work', 'blocked', 'unlisted'],
          ['work', 'failed', 'unresolved'],
          ['other', 'blocked', 'unlisted'],
          ['work', 'blocked', 'unlisted'],
        ]);
        for (const session of ['work', 'other']) await hermetic.run(['sandbox', 'destroy', session]);
        await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
      },
    );
  });
}
