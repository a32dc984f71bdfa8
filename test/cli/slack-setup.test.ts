import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { botScopes } from '../../src/channels/slack/manifest.ts';
import { FakeSlack } from '../fakes/slack/server.ts';
import { home } from '../fakes/slack/world.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
let slack: FakeSlack;
beforeEach(async () => {
  hermetic = new Hermetic();
  slack = await FakeSlack.start();
  mkdirSync(join(hermetic.home, '.hermetic'), { recursive: true, mode: 0o700 });
  writeFileSync(file('config.yaml'), `slack:\n  api_root: ${slack.root}\n`, { mode: 0o600 });
});
afterEach(async () => {
  await slack.close();
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

const file = (name: string): string => join(hermetic.environment.HERMETIC_HOME ?? '', name);
const dotenv = (): string => (existsSync(file('.env')) ? readFileSync(file('.env'), 'utf8') : '');

describe('hermetic setup --slack', () => {
  it('connects an app with both tokens, and keeps them out of what it prints', async () => {
    slack.scopes = botScopes.join(',');
    const { code, stdout, stderr } = await hermetic.run(['setup', '--slack'], { input: `${home.token}\n${slack.appToken}\n` });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('The bot is hermetic in Home.');
    expect(stdout).not.toMatch(/xoxb-1|xapp-1/);
    expect(readFileSync(file('config.yaml'), 'utf8')).toContain('enabled: true');
    expect(dotenv()).toContain(`SLACK_BOT_TOKEN=${home.token}`);
    expect(dotenv()).toContain(`SLACK_APP_TOKEN=${slack.appToken}`);
  });

  it('says which scope is missing, and writes nothing', async () => {
    slack.scopes = botScopes.filter((scope) => scope !== 'im:history').join(',');
    const outcome = await hermetic.run(['setup', '--slack'], {
      environment: { SLACK_BOT_TOKEN: home.token, SLACK_APP_TOKEN: slack.appToken },
    });
    expect(outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('im:history') });
    expect(readFileSync(file('config.yaml'), 'utf8')).not.toContain('enabled');
  });
});
