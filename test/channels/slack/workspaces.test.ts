import { beforeEach, describe, expect, it } from 'vitest';
import { ada, bob, home } from '../../fakes/slack/world.ts';
import { until } from '../../until.ts';
import { placeOf } from './harness.ts';
import { listeningRig } from './listening-rig.ts';

const rig = listeningRig();

describe('tokens of Slack', () => {
  it('a bot token that is revoked while it listens is reported, and ends nothing', async () => {
    await rig.start();
    const workspace = rig.harness.slack.world.workspaces[0] as { isRevoked?: boolean };
    workspace.isRevoked = true;
    try {
      await expect(rig.channel.send(rig.harness.direct, { text: 'x' })).rejects.toMatchObject({
        code: 'channel/busy',
        hint: expect.any(String),
      });
      expect(await rig.downReason()).toBe('Slack refuses the bot token (token_revoked).');
      rig.harness.slack.sockets.terminateAll();
      await until('it connects anew', () => rig.harness.slack.sockets.opened > 1);
    } finally {
      workspace.isRevoked = false;
    }
    await rig.channel.send(rig.harness.direct, { text: 'works again' });
    await rig.isUp();
  });

  it('an app token that is revoked while it reconnects is reported, and ends nothing', async () => {
    await rig.start();
    rig.harness.slack.isAppRevoked = true;
    rig.harness.slack.sockets.terminateAll();
    expect(await rig.downReason()).toBe('Slack refuses the app token (token_revoked).');
    await rig.channel.send(rig.harness.direct, { text: 'sending still works' });
    await rig.channel.stop();
    expect(rig.channel.state.kind).toBe('stopped');
  });

  it('refuses to start with a wrong app token, and says which one it is', async () => {
    const wrong = rig.make({ appToken: 'xapp-wrong-secret' });
    await expect(wrong.start(rig.accepted.accept)).rejects.toMatchObject({
      code: 'channel/unusable',
      message: 'Slack refuses the app token (invalid_auth).',
      hint: expect.stringContaining('connections:write'),
    });
    expect(rig.harness.slack.sockets.opened).toBe(0);
  });

  it.each(['', ' ', 'not a token', 'xoxb-1,', 'xoxb-1\r\nx: y', 'xoxb-1 xoxb-2'])('does not try a malformed token: %j', async (tokens) => {
    for (const wrong of [rig.make({ tokens }), rig.make({ appToken: tokens })]) {
      await expect(wrong.start(rig.accepted.accept)).rejects.toMatchObject({ code: 'channel/unusable' });
      await expect(wrong.send(rig.harness.direct, { text: 'x' })).rejects.toMatchObject({ code: 'channel/unusable' });
      expect(wrong.state.kind).toBe('down');
    }
    expect(rig.harness.slack.calls).toEqual([]);
  });

  it('warns of ids that let nobody in', async () => {
    rig.channel = rig.make({ options: { allowed_users: [ada, `${home.team}/${bob}`], admins: ['@ada'] } });
    await rig.channel.start(rig.accepted.accept);
    expect(rig.harness.log.join('\n')).toContain(JSON.stringify([ada, '@ada']));
    expect(rig.harness.log.join('\n')).not.toContain(bob);
  });
});

describe('several workspaces', () => {
  const away = { team: 'TAWAY1', name: 'Away', token: 'xoxb-2-secret-of-another', bot: 'UBOT2', botId: 'BBOT2' };
  const theirs = 'DTHEIRS1';
  beforeEach(() => {
    rig.harness.slack.world.workspaces.push({ ...away });
    rig.harness.slack.world.channel(theirs, away.team);
    rig.channel = rig.make({ tokens: `${home.token}, ${away.token}` });
  });

  it('hears both over one connection, tells their people apart, and answers with the right token', async () => {
    await rig.channel.start(rig.accepted.accept);
    rig.says('from home');
    rig.harness.slack.world.says({ channel: theirs, text: 'from away' });
    const here = await rig.hears('from home');
    const there = await rig.hears('from away');
    expect([here.from.id, there.from.id]).toEqual([`${home.team}/${ada}`, `${away.team}/${ada}`]);
    expect(there.place).toEqual(placeOf(theirs, undefined, away.team));
    await rig.channel.send(there.place, { text: 'to away' });
    expect(rig.harness.slack.calls.findLast(({ method }) => method === 'chat.postMessage')?.token).toBe(away.token);
    expect(rig.harness.shown(there.place)).toMatchObject([{ text: 'to away' }]);
    expect(rig.harness.slack.sockets.opened).toBe(1);
  });

  it('fetches a file with the token of its workspace', async () => {
    await rig.channel.start(rig.accepted.accept);
    rig.harness.slack.world.says({ channel: theirs, text: 'look', files: [{ name: 'a', data: Buffer.from('theirs') }] });
    const [file] = (await rig.hears('look')).files;
    expect(file && String(await rig.channel.fetchFile(file, 100))).toBe('theirs');
  });

  it('goes on in one workspace when the token of the other is refused, and says which', async () => {
    Object.assign(rig.harness.slack.world.workspaces[1] as object, { isRevoked: true });
    await rig.channel.start(rig.accepted.accept);
    expect(await rig.downReason()).toBe('Slack refuses the bot token 2 of 2 (token_revoked).');
    rig.says('still here');
    await rig.hears('still here');
    await expect(rig.channel.send(placeOf(theirs, undefined, away.team), { text: 'x' })).rejects.toMatchObject({ code: 'channel/busy' });
  });

  it('ignores and confirms what comes from a workspace without a token', async () => {
    rig.channel = rig.make();
    await rig.channel.start(rig.accepted.accept);
    rig.harness.slack.world.says({ channel: theirs, text: 'from nowhere' });
    rig.harness.slack.world.presses(theirs, rig.harness.slack.world.nextTs(), 'q');
    rig.harness.slack.world.commands(theirs, 'run ls');
    rig.says('from here');
    await rig.hears('from here');
    await rig.isAllAnswered();
    expect(rig.accepted.all).toHaveLength(1);
    await expect(rig.channel.send(placeOf(theirs, undefined, away.team), { text: 'x' })).rejects.toMatchObject({ code: 'channel/refused' });
  });
});
