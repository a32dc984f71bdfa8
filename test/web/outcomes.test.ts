import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { Program, type ProgramOptions } from '../gateway/program.ts';
import { until } from '../until.ts';
import { box, say } from './chat.ts';
import { describeInChromium } from './chromium.ts';

describeInChromium('cards of real tool calls', (rig) => {
  let program: Program;
  afterEach(() => program.close());

  async function open(options: ProgramOptions): Promise<Page> {
    program = await Program.start({ ...options, config: { telegram: { enabled: false } } });
    const page = await rig.page();
    await page.goto(program.link ?? '');
    await box(page).waitFor();
    return page;
  }

  /** The name of each card, and the colour of its mark. */
  async function cards(page: Page): Promise<string[]> {
    return await page.evaluate(`[...document.querySelectorAll('.tool')].map((one) => {
      const sample = one.appendChild(document.createElement('i'));
      const is = (name) => {
        sample.style.color = 'var(--' + name + ')';
        return getComputedStyle(sample).color === getComputedStyle(one.querySelector('.tool-state')).color;
      };
      const colour = ['good', 'bad', 'soft'].find(is);
      sample.remove();
      return one.getAttribute('aria-label') + ' (' + colour + ')';
    })`);
  }

  it('a card has a tick only when its command succeeded, also after a reload, and says the exit code of one that failed', async () => {
    const page = await open({});
    const command = (text: string): [string, unknown] => ['terminal', { command: text }];
    program.model.script = inTurn(
      calls(
        command('echo fine'),
        command('(exit 56)'),
        command('echo a | grep b'),
        command('kill -9 $$'),
        ['terminal', { command: 'sleep 1000', background: true }],
        ['process', { action: 'list' }],
        ['execute_code', { language: 'bash', code: 'exit 3' }],
        ['read_file', { path: 'missing.txt' }],
      ),
      says('That is all.'),
    );
    await say(page, 'try it');
    await page.getByText('That is all.').waitFor();
    const expected = [
      'terminal: done (good)',
      'terminal: failed, exit code 56 (bad)',
      'terminal: answered, exit code 1 (soft)',
      'terminal: failed, killed (bad)',
      'terminal: answered (soft)',
      'process: answered (soft)',
      'execute_code: failed, exit code 3 (bad)',
      'read_file: failed (bad)',
    ];
    expect(await cards(page)).toEqual(expected);
    expect(await page.locator('.tool-note').allTextContents()).toEqual(['exit code 56', 'exit code 1', 'killed', 'exit code 3', 'failed']);
    await page.reload();
    await page.getByText('That is all.').waitFor();
    await until('the cards are back', async () => (await page.locator('.tool').count()) === expected.length);
    expect(await cards(page)).toEqual(expected);
    await say(page, '/run exit 7');
    await page.getByRole('group', { name: 'terminal: failed, exit code 7' }).waitFor();
  });

  it('the card of a command that was denied says so, and has no tick', async () => {
    const page = await open({ backend: 'local' });
    program.model.script = inTurn(calls(['terminal', { command: 'rm -rf build ~/.cache/old-builds' }]), says('I leave it.'));
    await say(page, 'remove the build directory');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('I leave it.').waitFor();
    expect(await cards(page)).toEqual(['terminal: failed, denied (bad)']);
  });
});
