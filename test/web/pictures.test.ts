import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { calls, inTurn, says } from '../fakes/model-server.ts';
import { Program } from '../gateway/program.ts';
import { until } from '../until.ts';
import { box, say } from './chat.ts';
import { describeInChromium } from './chromium.ts';
import { pictures, takePicture } from './picture.ts';

const images = join(dirname(dirname(import.meta.dirname)), 'docs', 'images');

const files = {
  'dates.py': `from datetime import date, timedelta

def week_start(day: date) -> date:
    return day - timedelta(days=(day.weekday() + 1) % 7)
`,
  'test_dates.py': `from datetime import date
from unittest import TestCase
from dates import week_start

class Dates(TestCase):
    def test_begins_on_monday(self):
        self.assertEqual(week_start(date(2026, 11, 19)), date(2026, 11, 16))

    def test_is_not_in_the_future(self):
        self.assertLessEqual(week_start(date(2026, 11, 19)), date(2026, 11, 19))
`,
};

/** A project that the sandbox may write to. */
function newProject(): string {
  const project = mkdtempSync(join(tmpdir(), 'hermetic-project-'));
  mkdirSync(join(project, 'build'));
  for (const path of [project, join(project, 'build')]) chmodSync(path, 0o777);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  return project;
}

it('every picture of the documents is one that a test takes of a real gateway', () => {
  expect(readdirSync(images).sort()).toEqual([...pictures].sort());
});

describeInChromium('the picture of the page', (rig) => {
  it('shows sessions, tools with what became of them, an answer with code, and a question of the real gateway', async () => {
    const project = newProject();
    const program = await Program.start({
      config: { telegram: { enabled: false }, terminal: { docker_volumes: [`${project}:/project`] } },
    });
    try {
      const page = await rig.page({ viewport: { width: 1120, height: 1000 } });
      await page.goto(program.link ?? '');
      await box(page).waitFor();
      program.model.script = inTurn(
        calls(['terminal', { command: 'du -sh /project/*' }]),
        says('The directory `build` is the largest.'),
        says('I can, once the sandbox reaches the weather service.'),
        calls(
          ['terminal', { command: 'cd /project && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest' }],
          ['read_file', { path: '/project/dates.py' }],
        ),
        {
          pieces: [
            { text: 'One of **2** tests fails: it expects weeks to begin on Monday, and `week_start` begins them on Sunday. ' },
            { text: 'This mends it:\n\n```python\nreturn day - timedelta(days=day.weekday())\n```\n\n' },
            { text: 'The old build has the same mistake, so I would like to remove it first.' },
            { call: 'terminal', input: { command: 'rm -rf /project/build' } },
          ],
        },
      );
      await say(page, 'Which of these files are the largest?');
      await page.getByText('is the largest.').waitFor();
      const others = ['Plot last week’s temperatures', 'The tests fail since yesterday. Can you find out why?'];
      for (const text of others) {
        await page.getByRole('button', { name: 'New session' }).first().click();
        await page.getByText('What shall we do?').waitFor();
        await say(page, text);
        if (text === others[0]) await page.getByText('I can, once').waitFor();
      }
      const asking = page.getByRole('group', { name: 'Needs your answer' });
      await asking.getByText('rm -rf /project/build', { exact: false }).first().waitFor();
      await page.getByText('waiting for an answer to its question').waitFor();
      await until('it can be answered', () => asking.getByRole('button', { name: 'Once' }).isEnabled());
      await page.getByRole('group', { name: 'terminal: failed, exit code 1' }).waitFor();
      await page.getByRole('group', { name: 'read_file: done' }).waitFor();
      expect(await page.locator('.session-title').count()).toBe(3);
      await until('the status is that of the gateway', async () => (await page.locator('.status-button').textContent()) === 'bubblewrap');
      await takePicture(page, 'web-page.png');
    } finally {
      await program.close();
      rmSync(project, { recursive: true });
    }
  });
});
