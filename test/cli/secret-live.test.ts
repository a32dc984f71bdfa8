import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

const first = 'ghp_firstValue0123456789012345678901234';
const second = 'second-value-0123456789';

function filesWith(directory: string, word: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, 'latin1').includes(word));
}

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, ({ context, backend }) => {
    it('a chat session has placeholders, follows a changed list of secrets, and writes no value anywhere', async (test) => {
      test.skip((await backend.canRestrict()) !== true, 'the network cannot be restricted here');
      const hermetic = new Hermetic({ TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: context.docker.image });
      const home = join(hermetic.home, '.hermetic');
      mkdirSync(home, { mode: 0o700 });
      const dotenv = join(home, '.env');
      writeFileSync(dotenv, `GITHUB_TOKEN=${first}\nOTHER_TOKEN=${second}\n`, { mode: 0o600 });
      writeFileSync(join(home, 'config.yaml'), 'secrets:\n  GITHUB_TOKEN: { hosts: [api.github.com] }\n');
      const child = hermetic.start(['chat']);
      let shown = '';
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (shown += data.toString()));
      child.stdin?.write('/run echo "one: $GITHUB_TOKEN $OTHER_TOKEN."; cat /proc/[0-9]*/environ >/workspace/seen 2>/dev/null; true\n');
      await until('the first placeholder is inside', () => /one: ghp_hmtc[a-z0-9]{31} \./.test(shown));
      writeFileSync(
        join(home, 'config.yaml'),
        'secrets:\n  GITHUB_TOKEN: { hosts: [api.github.com] }\n  OTHER_TOKEN: { hosts: [other.example], as: INSIDE }\n  NONE: { hosts: [c.example] }\n',
      );
      child.stdin?.write('/run echo "two: $GITHUB_TOKEN $INSIDE $OTHER_TOKEN $NONE."\n/status\n');
      await until('both placeholders are inside', () => /two: ghp_hmtc[a-z0-9]{31} hmtc[a-z0-9]{26} {2}\./.test(shown));
      child.stdin?.end();
      expect((await once(child, 'close'))[0], shown).toBe(0);
      expect(shown).toContain('secrets GITHUB_TOKEN, OTHER_TOKEN, NONE (no value)');
      for (const value of [first, second]) {
        expect(shown).not.toContain(value);
        expect(filesWith(hermetic.home, value)).toEqual([dotenv]);
      }
      const app = createApp({ environment: hermetic.environment });
      for (const left of (await app.backends.get(kind)?.list()) ?? []) await left.destroy();
      await app.close();
      await removeTree(hermetic.home);
    });
  });
}
