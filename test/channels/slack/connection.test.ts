import { describe, expect, it } from 'vitest';
import { SlackClient } from '../../../src/channels/slack/client.ts';
import { Wire } from '../../../src/channels/slack/wire.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { home } from '../../fakes/slack/world.ts';
import { until } from '../../until.ts';
import { channels } from './harness.ts';
import { listeningRig } from './listening-rig.ts';

const rig = listeningRig();

describe('the connection to Slack', () => {
  it.each(['warning', 'refresh_requested'])('opens the next connection before it leaves the last one (%s)', async (reason) => {
    await rig.start();
    const { sockets } = rig.harness.slack;
    sockets.disconnect(reason);
    await until('the next one is there and the last one gone', () => sockets.opened === 2 && sockets.connected === 1);
    expect(sockets.most).toBe(2);
    rig.says('again');
    await rig.hears('again');
    expect(rig.accepted.texts).toEqual(['again']);
    expect(rig.channel.state.kind).toBe('up');
    // Nothing was missed, so nothing is read.
    expect(rig.harness.slack.callsOf('conversations.history').length).toBeLessThanOrEqual(Object.keys(channels).length);
  });

  it('acknowledges on the old connection what arrived there before the new one took over', async () => {
    await rig.start();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.accepted.hold = () => promise;
    rig.says('slow');
    await until('it is delivered', () => rig.harness.slack.sockets.delivered.length > 1);
    rig.harness.slack.sockets.disconnect('warning');
    await until('the next one is there', () => rig.harness.slack.sockets.opened === 2);
    resolve();
    await rig.isAllAnswered();
    await until('the old one is gone', () => rig.harness.slack.sockets.connected === 1);
  });

  it('reads what was said while there was no connection, in order and once', async () => {
    await rig.start();
    rig.harness.slack.sockets.terminateAll();
    await until('it is cut', () => rig.harness.slack.sockets.connected === 0);
    for (const text of ['one', 'two']) rig.harness.slack.world.makes({ channel: channels.ada, text });
    await rig.hears('two');
    rig.says('three');
    await rig.hears('three');
    expect(rig.accepted.texts).toEqual(['one', 'two', 'three']);
  });

  it('reads what was said in known threads, and in threads that were begun meanwhile', async () => {
    await rig.start();
    const begun = rig.harness.slack.world.says({ channel: channels.general, source: `<@${home.bot}> begin` });
    await rig.hears('begin');
    await until('the thread is known', () => [...rig.harness.notes.all.keys()].some((key) => key.endsWith(begun.ts)));
    await rig.channel.stop();
    const { world } = rig.harness.slack;
    world.makes({ channel: channels.general, text: 'go on', thread: begun.ts });
    const other = world.makes({ channel: channels.general, source: `<@${home.bot}> another` });
    world.makes({ channel: channels.general, text: 'and this', thread: other.ts });
    const second = new Accepted();
    rig.channel = rig.make();
    await rig.channel.start(second.accept);
    await until('all are there', () => second.all.length === 3);
    expect(second.messages.map(({ text, place, isAddressed }) => [text, place.thread, isAddressed])).toEqual([
      ['go on', begun.ts, true],
      ['another', other.ts, true],
      ['and this', other.ts, true],
    ]);
  });

  it('reads more missed messages than Slack gives at once', async () => {
    const words = Array.from({ length: 450 }, (_, number) => `word ${number}`);
    for (const text of words) rig.harness.slack.world.makes({ channel: channels.ada, text });
    rig.harness.slack.fail('conversations.history', { status: 429, retryAfter: 0 });
    rig.harness.slack.fail('conversations.history', { status: 502 });
    await rig.channel.start(rig.accepted.accept);
    await until('all are accepted', () => rig.accepted.all.length === words.length);
    expect(rig.accepted.texts).toEqual(words);
  });

  it('forgets a conversation that it is no longer in', async () => {
    await rig.harness.notes.write({ [`chat:${home.team}/CGONE`]: String(Date.now()) });
    await rig.channel.start(rig.accepted.accept);
    await until('it is forgotten', () => !rig.harness.notes.all.has(`chat:${home.team}/CGONE`));
    rig.says('still here');
    await rig.hears('still here');
  });

  it('listens although what was missed cannot be read', async () => {
    for (let count = 0; count < 3; count += 1)
      rig.harness.slack.fail('conversations.history', { error: 'missing_scope', needed: 'im:history' });
    await rig.channel.start(rig.accepted.accept);
    rig.says('hello');
    await rig.hears('hello');
    expect(rig.harness.log.join('\n')).toContain('missing_scope, it needs im:history');
  });

  it('replaces a connection through which nothing comes any more', async () => {
    const app = new SlackClient({ token: rig.harness.slack.appToken, apiRoot: rig.harness.slack.root });
    const { url } = await app.call<{ url: string }>('apps.connections.open');
    const stop = new AbortController();
    const hello = Promise.withResolvers<void>();
    const wire = new Wire({ address: url, signal: stop.signal, onHello: hello.resolve, onEnvelope: () => undefined, pulseMs: 40 });
    await hello.promise;
    rig.harness.slack.sockets.freeze();
    expect(await wire.outcome).toBe('ended');
    stop.abort();
  });

  it('logs nothing when a connection ends once', async () => {
    await rig.start();
    rig.harness.slack.sockets.terminateAll();
    await until('it is back', () => rig.harness.slack.sockets.opened === 2);
    await rig.isUp();
    expect(rig.harness.log).toEqual([]);
  });

  it('says that Socket Mode is switched off', async () => {
    await rig.start();
    rig.harness.slack.sockets.disconnect('link_disabled');
    expect(await rig.downReason()).toContain('Socket Mode is switched off');
  });

  it.each(['not JSON', '[]', 'null', '7', '{}', '{"type":"disconnect"}', '{"envelope_id":"e","type":"events_api","payload":null}'])(
    'survives %s from Slack',
    async (text) => {
      await rig.start();
      rig.harness.slack.sockets.sendRaw(text);
      await until('there is a connection', () => rig.harness.slack.sockets.connected > 0);
      await rig.isUp();
      // It may be said while there is none; then it is read.
      rig.says('after it');
      await rig.hears('after it');
    },
  );

  it('survives bytes that are no text', async () => {
    await rig.start();
    rig.harness.slack.sockets.sendRaw(new Uint8Array([0, 255, 1]));
    rig.says('after it');
    await rig.hears('after it');
  });

  it('connects nowhere else than where it may', async () => {
    rig.harness.slack.fail('apps.connections.open', { body: '{"ok":true,"url":"ws://127.0.0.1:9/link"}' }, 2);
    await rig.channel.start(rig.accepted.accept);
    expect(rig.harness.log.join('\n')).toContain('an address that is not one of Slack');
    await rig.isUp();
    const client = new SlackClient({ token: 'x', apiRoot: undefined });
    const addresses = [
      'wss://wss-primary.slack.com/link/?ticket=1',
      'ws://wss-primary.slack.com/',
      'wss://evil.example/',
      'wss://slack.com.evil.example/',
      'x',
    ];
    expect(addresses.map((address) => client.isSocketAddress(address))).toEqual([true, false, false, false, false]);
  });
});
