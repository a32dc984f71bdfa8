import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { describeBackend } from '../engines.ts';
import { itNeeding } from '../needs.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

const request = String.raw`GET http://listed.example/ HTTP/1.1\r\nHost: listed.example\r\nConnection: close\r\n\r\n`;
const ask = `/run exec 3<>/dev/tcp/127.0.0.1/3128; printf '${request}' >&3; cat <&3`;

await describeBackend('bubblewrap', () => {
  itNeeding(
    ['restricted-network'],
    'a chat session is restricted by default, blocks other hosts where people are not asked, and follows changed rules at once',
    async () => {
      const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap' });
      const home = join(hermetic.home, '.hermetic');
      mkdirSync(home, { mode: 0o700 });
      writeFileSync(join(home, 'config.yaml'), 'network:\n  ask: false\n');
      const child = hermetic.start(['chat']);
      let shown = '';
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (shown += data.toString()));
      child.stdin?.write(`${ask}\n`);
      await until('the proxy has refused an unlisted host', () => shown.includes('no rule of network.allow or network.presets allows it'));
      expect(shown).toContain('X-Hermetic: blocked');
      await until('the result names it', () => shown.includes('Network: blocked listed.example:80 (not in network.allow)'));
      // Denied, so that the name is never looked up.
      writeFileSync(join(home, 'config.yaml'), 'network:\n  allow: [listed.example]\n  deny: [listed.example:80]\n');
      child.stdin?.write(`${ask}\n/status\n`);
      await until('the rules are in force', () => shown.includes('listed.example:80 is blocked by a rule of network.deny'));
      child.stdin?.end();
      expect((await once(child, 'close'))[0], shown).toBe(0);
      expect(shown).toContain('network restricted (presets packages, git, 1 rule of network.allow, 1 of network.deny)');
      await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
    },
  );
});
