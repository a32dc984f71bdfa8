import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { botScopes, manifest, newAppAddress } from '../../../src/channels/slack/manifest.ts';
import { setup } from '../../../src/channels/slack/setup.ts';
import { FakeSlack } from '../../fakes/slack/server.ts';
import { home } from '../../fakes/slack/world.ts';

let slack: FakeSlack;
beforeEach(async () => {
  slack = await FakeSlack.start();
});
afterEach(() => slack.close());

const check = (tokens = home.token, appToken = slack.appToken): Promise<string> =>
  setup.check({ secret: (option) => (option === 'token_env' ? tokens : appToken), options: { api_root: slack.root } });
const problem = (option: string, value: string): string | undefined => setup.fields.find((one) => one.option === option)?.problem?.(value);

describe('setting up Slack', () => {
  it('says who the bot is, in every workspace', async () => {
    slack.world.workspaces.push({ team: 'TAWAY1', name: 'Away', token: 'xoxb-2', bot: 'UBOT2', botId: 'BBOT2' });
    slack.scopes = botScopes.join(',');
    expect(await check(`${home.token}, xoxb-2`)).toContain('hermetic in Home, hermetic in Away');
  });

  it('says which scopes are missing', async () => {
    slack.scopes = botScopes.filter((scope) => scope !== 'files:read' && scope !== 'commands').join(',');
    await expect(check()).rejects.toMatchObject({
      message: expect.stringContaining('commands, files:read'),
      hint: expect.stringMatching(/\w/),
    });
  });

  it.each([
    ['bot token', `${home.token}x`, undefined],
    ['app token', home.token, 'xapp-wrong'],
  ])('says that the %s is wrong, without it', async (name, tokens, appToken) => {
    const error = await check(tokens, appToken).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'channel/unusable', message: expect.stringContaining(`refuses the ${name} (invalid_auth)`) });
    expect(JSON.stringify(error)).not.toContain(tokens);
  });

  it.each([
    ['token_env', 'xoxb-1-2-abc', true],
    ['token_env', 'xoxb-1-2-abc, xoxb-3-4-def', true],
    ['token_env', 'xapp-1-2-abc', false],
    ['token_env', 'xoxb-1 xoxb-2', false],
    ['token_env', '', false],
    ['app_token_env', 'xapp-1-A1-abc', true],
    ['app_token_env', 'xoxb-1', false],
  ])('knows of %s %j whether it may be right', (option, value, isRight) => {
    expect(problem(option, value) === undefined).toBe(isRight);
  });

  it('shows the same app in its page as it makes', () => {
    const page = readFileSync(new URL('../../../docs/channels/slack.md', import.meta.url), 'utf8');
    const shown = /```json\n([\s\S]*?)\n\s*```/.exec(page)?.[1] ?? '';
    expect(JSON.parse(shown)).toEqual(manifest);
    const address = new URL(newAppAddress());
    expect(JSON.parse(address.searchParams.get('manifest_json') ?? '')).toEqual(manifest);
  });
});
