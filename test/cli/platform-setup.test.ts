import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeDiscord } from '../fakes/discord/server.ts';
import { atTerminal } from './at-terminal.ts';
import { Hermetic } from './hermetic.ts';

let hermetic: Hermetic;
let discord: FakeDiscord;
beforeEach(async () => {
  hermetic = new Hermetic();
  discord = await FakeDiscord.start();
  mkdirSync(join(hermetic.home, '.hermetic'), { recursive: true, mode: 0o700 });
  writeFileSync(file('config.yaml'), `discord:\n  api_root: ${discord.root}\n`, { mode: 0o600 });
});
afterEach(async () => {
  await discord.close();
  await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

const file = (name: string): string => join(hermetic.environment.HERMETIC_HOME ?? '', name);
const config = (): string => readFileSync(file('config.yaml'), 'utf8');
const dotenv = (): string => (existsSync(file('.env')) ? readFileSync(file('.env'), 'utf8') : '');

describe('hermetic setup --discord', () => {
  it.each([
    ['its variable', (token: string) => ({ environment: { DISCORD_BOT_TOKEN: token } })],
    ['standard input', (token: string) => ({ input: `${token}\n` })],
  ])('connects a bot with a token from %s, and prints how to let it into a server', async (_, given) => {
    const { code, stdout, stderr } = await hermetic.run(['setup', '--discord'], given(discord.token));
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('The bot is hermetic.');
    expect(stdout).toMatch(/discord\.com\/oauth2\/authorize\?client_id=4242&scope=bot\+applications\.commands&permissions=\d+/);
    expect(stdout).toContain('hermetic pairing approve');
    expect(stdout).not.toContain(discord.token);
    expect(config()).toContain('enabled: true');
    expect(dotenv()).toContain(`DISCORD_BOT_TOKEN=${discord.token}`);
    expect(statSync(file('.env')).mode & 0o777).toBe(0o600);
  });

  it('takes a line of standard input for each of several platforms', async () => {
    const input = `123456:${'A'.repeat(35)}\n${discord.token}\n`;
    expect(await hermetic.run(['setup', '--telegram', '--discord', '--no-test'], { input })).toMatchObject({ code: 0 });
    expect(dotenv()).toContain('TELEGRAM_BOT_TOKEN=123456:');
    expect(dotenv()).toContain(`DISCORD_BOT_TOKEN=${discord.token}`);
  });

  it('uses a token that is in .env already', async () => {
    writeFileSync(file('.env'), `DISCORD_BOT_TOKEN=${discord.token}\n`, { mode: 0o600 });
    expect(await hermetic.run(['setup', '--discord'])).toMatchObject({ code: 0 });
    expect(config()).toContain('enabled: true');
  });

  it.each([
    ['none at all', '', 2, 'DISCORD_BOT_TOKEN is not set'],
    ['one that is wrong', 'some.other.token', 1, 'Discord refuses the token (401).'],
    ['one that is no token', 'hunter2', 1, 'This is not a token of a Discord bot'],
    ['one with spaces', 'two words', 2, 'contains spaces'],
  ])('writes nothing with a token that is: %s', async (_, input, code, says) => {
    const outcome = await hermetic.run(['setup', '--discord'], { input });
    expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) });
    expect(outcome.stderr).not.toMatch(/hunter2|some\.other/);
    expect(config()).not.toContain('enabled');
    expect(dotenv()).not.toContain('DISCORD_BOT_TOKEN');
  });

  it('says what to switch on when the bot may not read messages, and writes nothing', async () => {
    discord.world.applicationFlags = 0;
    const outcome = await hermetic.run(['setup', '--discord'], { input: discord.token });
    expect(outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('Switch on "Message Content Intent"') });
    expect(config()).not.toContain('enabled');
  });

  it('--no-test writes without asking Discord', async () => {
    expect(await hermetic.run(['setup', '--discord', '--no-test'], { input: discord.token })).toMatchObject({ code: 0 });
    expect(discord.calls).toEqual([]);
    expect(config()).toContain('enabled: true');
  });
});

it('at a terminal, setup shows what to do at a platform, hides the token and lets a wrong one be entered again', async () => {
  const terminal = atTerminal(hermetic, ['setup']);
  await terminal.sees('Which provider?');
  // Upwards from the first: none.
  terminal.type('\u001b[A\r');
  await terminal.sees('Connect a platform?');
  // Downwards from none: Telegram, Discord.
  terminal.type('\u001b[B\u001b[B\r');
  await terminal.sees('Message Content Intent');
  await terminal.sees('Its token');
  terminal.type('some.other.token\r');
  await terminal.sees('Discord refuses the token');
  const again = terminal.text().length;
  await terminal.sees('Enter it again');
  terminal.type('\r');
  await terminal.sees('Its token', again);
  terminal.type(`${discord.token}\r`);
  await terminal.sees('Discord is enabled.');
  await terminal.sees('Connect another platform?');
  terminal.type('\r');
  expect(await terminal.exit).toBe(0);
  expect(terminal.text()).not.toContain(discord.token);
  expect(dotenv()).toContain(`DISCORD_BOT_TOKEN=${discord.token}`);
});
