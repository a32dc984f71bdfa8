import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { Program, type ProgramOptions } from '../gateway/program.ts';
import { until } from '../until.ts';
import { box, say } from './chat.ts';
import { describeInChromium } from './chromium.ts';
import { takePicture } from './picture.ts';

describeInChromium('a newcomer', (rig) => {
  let program: Program;
  afterEach(() => program.close());

  async function open(options: ProgramOptions): Promise<Page> {
    program = await Program.start({ ...options, config: { telegram: { enabled: false }, ...options.config } });
    const page = await rig.page({ viewport: { width: 1000, height: 820 } });
    await page.goto(program.link ?? '');
    await box(page).waitFor();
    return page;
  }

  it('a newcomer opens the link, runs a command and a script in a sandbox without a model, and learns how to add one', async () => {
    const page = await open({ config: { model: { provider: '', model: '', base_url: '' } } });
    await say(page, '/run echo "six times seven is $((6 * 7))"; id -un');
    await page.getByText('six times seven is 42', { exact: false }).first().waitFor();
    await say(page, '/python print(sum(range(101)))');
    await page.getByText('5050', { exact: false }).first().waitFor();
    await say(page, 'hello');
    await page.getByText('hermetic setup', { exact: false }).first().waitFor();
    expect(program.model.requests.length).toBe(0);
  });

  it('a newcomer talks to an agent that works in the sandbox', async () => {
    const page = await open({});
    program.model.script = inTurn(
      calls(['terminal', { command: 'echo "from the sandbox" > note.txt; cat note.txt' }]),
      says('The note says **from the sandbox**.'),
    );
    await say(page, 'write a note and read it');
    await page.locator('.markdown strong', { hasText: 'from the sandbox' }).waitFor();
    expect(await page.locator('.tool').count()).toBe(1);
    await say(page, '/run cat note.txt');
    await until('it is the same sandbox', async () =>
      (await page.locator('article.message').last().textContent())?.includes('from the sandbox'),
    );
  });

  it('asks before a dangerous command on the host, and runs it once after the button was pressed', async () => {
    const page = await open({ backend: 'local' });
    const lines = (): string[] => {
      const found = readdirSync(program.directory, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('cleaned.log'));
      return found === undefined ? [] : readFileSync(join(program.directory, found), 'utf8').trim().split('\n');
    };
    program.model.script = inTurn(
      {
        pieces: [
          { text: 'I look at what is there first.' },
          { call: 'terminal', input: { command: 'mkdir -p build/cache && du -sh build && ls -A' } },
        ],
      },
      calls(['terminal', { command: 'rm -rf build ~/.cache/old-builds && date >> cleaned.log' }]),
      says('The directory `build` is gone, and **nothing else** was touched. The next build takes a little longer.'),
    );
    await say(page, 'My disk is full. Can you remove the build directory?');
    const asking = page.getByRole('group', { name: 'Needs your answer' });
    await asking.getByText('rm -rf build', { exact: false }).first().waitFor();
    expect(lines()).toEqual([]);
    const answers = asking.locator('.buttons button');
    expect(await answers.evaluateAll((all) => all.map((one) => [one.textContent, one.className]))).toEqual([
      ['Once', 'primary'],
      ['This session', ''],
      ['Always', ''],
      ['Deny', 'refuse'],
    ]);
    await asking.getByRole('button', { name: 'Once' }).click();
    await page.getByText('nothing else').waitFor();
    await until('the card is settled', async () => (await page.getByText('Allowed once by', { exact: false }).count()) > 0);
    expect(lines().length).toBe(1);
    expect(await page.getByRole('button', { name: 'Once' }).count()).toBe(0);
    await page.reload();
    await page.getByText('nothing else').waitFor();
    expect(lines().length).toBe(1);
  });

  it('asks before a sandbox deletes files of a mounted directory, and deletes them after the button was pressed', async () => {
    const project = mkdtempSync(join(tmpdir(), 'hermetic-project-'));
    const build = join(project, 'build');
    try {
      mkdirSync(join(build, 'cache'), { recursive: true });
      for (const path of [project, build, join(build, 'cache')]) chmodSync(path, 0o777);
      const page = await open({ config: { terminal: { docker_volumes: [`${project}:/project`] } } });
      program.model.script = inTurn(
        {
          pieces: [{ text: 'Let me look at it first.' }, { call: 'terminal', input: { command: 'ls -R /project' } }],
        },
        calls(['terminal', { command: 'rm -rf /project/build' }]),
        says('The directory `build` is **gone**. The next build takes a little longer.'),
      );
      await say(page, 'My disk is full. Can you remove the build directory of the project?');
      const asking = page.getByRole('group', { name: 'Needs your answer' });
      await asking.getByText('rm -rf /project/build', { exact: false }).first().waitFor();
      await page.getByText('waiting for an answer to its question').waitFor();
      await until('it can be answered', () => asking.getByRole('button', { name: 'Once' }).isEnabled());
      expect(existsSync(build)).toBe(true);
      await takePicture(page, 'web-chat.png');
      await asking.getByRole('button', { name: 'Once' }).click();
      await page.locator('.markdown strong', { hasText: 'gone' }).waitFor();
      expect(existsSync(build)).toBe(false);
    } finally {
      rmSync(project, { recursive: true });
    }
  });
});
