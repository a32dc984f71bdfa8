import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { describeBackend } from '../engines.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import { describeInChromium, type WebRig } from './chromium.ts';
import { addSecret, openSecrets, secretsPanel } from './secrets-panel.ts';

const first = 'ghp_firstOfThePage0123456789012345678901';
const second = 'other-value-0123456789';
const placeholder = /ghp_hmtc[a-z0-9]{32}/;

function filesWith(directory: string, word: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, 'latin1').includes(word));
}

/** Runs a command in the chat; resolves with its result, which has to match. */
async function run(page: Page, command: string, shows: RegExp): Promise<string> {
  const box = page.getByLabel('Message', { exact: true });
  await box.fill(`/run ${command}`);
  await box.press('Enter');
  let last = '';
  await until(`the chat shows ${shows} after ${command}`, async () => {
    last = (await page.locator('article.message').last().textContent()) ?? '';
    return !last.includes('/run') && shows.test(last);
  }).catch((error: unknown) => expect.fail(`${error}\nshown: ${last}`));
  return last;
}

await describeBackend('bubblewrap', ({ backend }) => {
  describeInChromium('secrets of a running gateway', (rig: WebRig) => {
    let program: Program | undefined;
    afterEach(() => program?.close());

    /** A page of a gateway with this network, and all that the gateway answers to it. */
    async function open(network: 'restricted' | 'none' | 'of the host'): Promise<{ page: Page; program: Program; answers: string[] }> {
      const isLocal = network === 'of the host';
      program = await Program.start({
        backend: isLocal ? 'local' : 'bubblewrap',
        config: { telegram: { enabled: false }, ...(isLocal ? { approvals: { mode: 'off' } } : { terminal: { network } }) },
      });
      const page = await rig.page();
      const answers: string[] = [];
      page.on('response', (response) => {
        const isStream = response.headers()['content-type']?.startsWith('text/event-stream');
        if (!isStream)
          void response.text().then(
            (text) => answers.push(text, JSON.stringify(response.headers())),
            () => undefined,
          );
      });
      await page.goto(program.link ?? '');
      await page.getByLabel('Message', { exact: true }).waitFor();
      return { page, program, answers };
    }

    it('a command after a secret was set on the page has its placeholder, and the value is nowhere but in .env', async (test) => {
      test.skip((await backend.canRestrict()) !== true, 'the network cannot be restricted here');
      const opened = await open('restricted');
      const { page, answers } = opened;
      const panel = secretsPanel(page);
      await run(page, 'printenv GITHUB_TOKEN || echo "there is none"', /there is none/);
      const isUsed = (text: string): Promise<void> => panel.getByRole('status').getByText(text).waitFor();

      await openSecrets(page);
      await addSecret(page, { name: 'GITHUB_TOKEN', hosts: 'github.com', value: first });
      await isUsed('GITHUB_TOKEN is stored and bound to github.com. Sessions use it from the next command on.');
      await page.keyboard.press('Escape');
      const inside = placeholder.exec(await run(page, 'printenv GITHUB_TOKEN', placeholder))?.[0];
      await run(page, 'cat /proc/[0-9]*/environ > seen 2>/dev/null; grep -c hmtc seen', /[1-9]/);

      await openSecrets(page);
      await panel.getByRole('button', { name: 'Edit GITHUB_TOKEN' }).click();
      await panel.getByLabel('Value', { exact: true }).fill(second);
      await panel.getByRole('button', { name: 'Save' }).click();
      await isUsed('Sessions use it from the next command on.');
      await page.keyboard.press('Escape');
      const other = await run(page, 'echo "now $GITHUB_TOKEN."', /now hmtc[a-z0-9]{26}\./);
      expect(other).not.toContain(inside);

      await openSecrets(page);
      await panel.getByRole('button', { name: 'Remove GITHUB_TOKEN' }).click();
      await panel.getByRole('group').getByRole('button', { name: 'Remove' }).click();
      await isUsed('GITHUB_TOKEN is removed. Sessions are without it from the next command on.');
      expect(filesWith(opened.program.directory, second)).toEqual([]);
      await page.keyboard.press('Escape');
      await run(page, 'echo "left: [$GITHUB_TOKEN]"', /left: \[\]/);

      await openSecrets(page);
      await addSecret(page, { name: 'GITHUB_TOKEN', hosts: 'github.com', value: first });
      await isUsed('Sessions use it from the next command on.');
      const shown = [await page.content(), ...answers, opened.program.output].join('\n');
      expect(answers.join('\n')).toContain('GITHUB_TOKEN');
      expect(opened.program.output).toContain('GITHUB_TOKEN changed');
      for (const value of [first, second]) expect(shown).not.toContain(value);
      await opened.program.stop();
      expect(filesWith(opened.program.home, first)).toEqual([join(opened.program.directory, '.env')]);
      expect(filesWith(opened.program.home, second)).toEqual([]);
    });

    it('the panel says that sessions do not use secrets when their network is not restricted', async () => {
      const { page } = await open('none');
      await openSecrets(page);
      const panel = secretsPanel(page);
      const reason =
        'Sessions do not use secrets: their network is none, and secrets need a restricted one (terminal.network: restricted).';
      await panel.getByText(reason).waitFor();
      await addSecret(page, { name: 'GITHUB_TOKEN', hosts: 'github.com', value: first });
      await panel.getByRole('status').getByText(reason).waitFor();
      expect(await panel.getByText(reason).count()).toBe(1);
      await page.keyboard.press('Escape');
      await run(page, 'echo "left: [$GITHUB_TOKEN]"', /left: \[\]/);
    });

    it('a command of a session on the host sets no secret with the token of the page, and its panel says that none is used', async () => {
      const opened = await open('of the host');
      const { page } = opened;
      const { directory, link = '' } = opened.program;
      const token = readFileSync(join(directory, 'web-token'), 'utf8').trim();
      const request = `curl -s -X PUT -H "Authorization: Bearer ${token}" -d '{"hosts":["a.example"],"value":"${first}"}'`;
      await run(
        page,
        `${request} ${new URL('/api/secrets/STOLEN', link).href}`,
        /The page is refused: a command of a session started this/,
      );
      expect(existsSync(join(directory, '.env'))).toBe(false);
      await openSecrets(page);
      await secretsPanel(page).getByText('Sessions do not use secrets').waitFor();
    });
  });
});
