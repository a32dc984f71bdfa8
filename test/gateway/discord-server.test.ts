import { afterEach, beforeEach, expect, it } from 'vitest';
import { type DiscordHarness, discordHarness } from '../channels/discord/harness.ts';
import { ada, bob, bot } from '../fakes/discord/world.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

describeContained('a server of Discord through the gateway', () => {
  let harness: DiscordHarness;
  let program: Program;
  beforeEach(async () => {
    harness = await discordHarness();
    harness.discord.world.members.set(ada.id, ['801']);
    harness.discord.world.members.set(bob.id, ['802']);
    const section = { enabled: true, allowed_roles: ['801'], auto_thread: true, ...harness.section };
    program = await Program.start({ config: { discord: section }, environment: harness.variables });
  });
  afterEach(async () => {
    await program.close();
    await harness.close();
  });

  const mention = (from: typeof ada): string => {
    const { world } = harness.discord;
    return world.says({ from, channel: harness.group.chat, content: `<@${bot.id}> hello`, mentions: [bot] }).id;
  };
  const said = () => harness.discord.world.sent.map(({ message }) => ({ channel: message.channel_id, text: message.content }));

  it('members with an allowed role are answered in a thread of their message, and others are not', async () => {
    const theirs = mention(bob);
    const ours = mention(ada);
    await until('it is answered', () => said().find(({ text }) => text === 'Fine.'));
    expect(said()).toEqual([{ channel: ours, text: 'Fine.' }]);
    expect(harness.discord.world.channels.has(theirs)).toBe(false);
    // In the thread no mention is needed, and the role counts there too.
    harness.discord.world.says({ from: bob, channel: ours, content: 'and me?' });
    harness.discord.world.says({ from: ada, channel: ours, content: 'and then?' });
    await until('that is answered too', () => said().length === 2);
    expect(said().map(({ channel }) => channel)).toEqual([ours, ours]);
    expect(program.model.requests).toHaveLength(2);
  });

  it('a role lets nobody in who writes directly', async () => {
    harness.userSays(harness.direct, { text: 'hello' });
    const text = await until('there is an answer', () => said().find(({ channel }) => channel === harness.direct.chat)?.text);
    expect(text).toContain('You are not paired with me yet');
    expect(program.model.requests).toEqual([]);
  });

  it('the menu has the commands of the gateway, and one of them is carried out', async () => {
    const { world } = harness.discord;
    await until('it is there', () => world.commands.some((one) => (one as { name: string }).name === 'whoami'));
    world.gives(harness.group.chat, 'whoami', undefined);
    await until('it is answered', () => said().find(({ text }) => text.includes('Your role: user.')));
    world.gives(harness.group.chat, 'whoami', undefined, bob);
    const [first = '', second = ''] = await until('both were confirmed', () =>
      world.interactionAnswers.length === 2 ? world.interactionAnswers.map(({ content }) => content ?? '') : undefined,
    );
    expect([first, second].every((content) => content.includes('/whoami'))).toBe(true);
    expect(said().filter(({ text }) => text.includes('Your role'))).toHaveLength(1);
  });
});
