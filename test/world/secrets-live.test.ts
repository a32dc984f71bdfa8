import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Hermetic } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';
import { describeWorld } from './world.ts';

const first = 'ghp_firstValue0123456789012345678901234';
const second = first.replace('first', 'other');
const ask = (mark: string): string =>
  `/run curl -sS https://api.test/echo -H "Authorization: Bearer $INSIDE"; printf ' %s-${mark} %s.\\n' end "$INSIDE"\n`;

await describeBackend('bubblewrap', () => {
  describeWorld((world) => {
    it('a running session sends a changed value with the same placeholder, and none when the secret is removed', async () => {
      const hermetic = new Hermetic(
        { TERMINAL_ENV: 'bubblewrap', NODE_EXTRA_CA_CERTS: join(world().directory, 'ca.pem') },
        world().command,
      );
      const home = join(hermetic.home, '.hermetic');
      mkdirSync(home, { mode: 0o700 });
      const configure = (value: string, settings: object): void => {
        writeFileSync(join(home, '.env'), `API_TOKEN=${value}\n`, { mode: 0o600 });
        writeFileSync(join(home, 'config.yaml'), JSON.stringify({ network: { presets: [], allow: ['api.test'] }, ...settings }));
      };
      const secrets = { API_TOKEN: { hosts: ['api.test'], as: 'INSIDE' } };
      configure(first, { secrets });
      const child = hermetic.start(['chat']);
      let shown = '';
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (shown += data.toString()));
      const credentials = async () =>
        (await world().arrivals()).flatMap((arrival) => (arrival.kind === 'request' ? [arrival.headers.authorization] : []));
      const answered = async (mark: string): Promise<string> => {
        child.stdin?.write(ask(mark));
        await until(`the command ${mark} has ended`, () => new RegExp(` end-${mark} \\S*\\.`).test(shown));
        return new RegExp(` end-${mark} (\\S*)\\.`).exec(shown)?.[1] ?? '';
      };

      const placeholder = await answered('one');
      expect(placeholder, shown).toMatch(/^ghp_hmtc[a-z0-9]{31}$/);
      expect(await credentials()).toEqual([`Bearer ${first}`]);
      configure(second, { secrets });
      expect(await answered('two')).toBe(placeholder);
      expect(await credentials()).toEqual([`Bearer ${second}`]);
      configure(second, {});
      expect(await answered('three')).toBe('');
      expect((await credentials()).join()).not.toContain(second);
      child.stdin?.end();
      expect((await once(child, 'close'))[0], shown).toBe(0);
      for (const value of [first, second]) expect(shown).not.toContain(value);
      await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
    });
  });
});
