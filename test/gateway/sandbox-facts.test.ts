import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeContained } from './contained.ts';
import { Rig } from './rig.ts';

describeContained('the agent', async () => {
  const rig = await Rig.start();
  afterAll(() => rig.close());
  const systemPrompt = (): string => rig.model.requests.at(-1)?.messages.find(({ role }) => role === 'system')?.text ?? '';

  it('describes the sandbox to the model without opening one', async () => {
    await rig.say('hello');
    await rig.shows('Fine.', 'ada', 60_000);
    expect(systemPrompt()).toContain('It has no network.');
    expect(systemPrompt()).toContain('Its limits are 1 CPU, 5120 MB of memory, 51200 MB of disk, 256 processes.');
    expect(systemPrompt()).toContain('`pip install` and `npm install -g` write to ~/.local');
    expect(systemPrompt()).toContain('Files that people send are in "/received".');
    expect(systemPrompt()).not.toContain('Skills');
    expect(rig.app.sandboxes.openCount).toBe(0);
  }, 120_000);

  it('tells the model where skills are as soon as there are any', async () => {
    mkdirSync(join(rig.home, '.hermetic', 'skills'));
    await rig.say('and now?', { from: 'bob' });
    await rig.shows('Fine.', 'bob', 60_000);
    expect(systemPrompt()).toMatch(/Skills.* are in "\/opt\/hermetic\/skills"/);
  }, 120_000);
});
