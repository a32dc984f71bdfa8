import { afterEach, describe, expect, it } from 'vitest';
import type { WebEvent } from '../../src/core/web-log.ts';
import { until } from '../until.ts';
import { type GatewayOptions, placeOf, TestGateway } from './gateway.ts';
import { Line } from './sse.ts';

let gateway: TestGateway;
const lines: Line[] = [];
afterEach(async () => {
  for (const line of lines.splice(0)) line.close();
  await gateway?.remove();
});

async function start(options: GatewayOptions = {}): Promise<readonly [string, string]> {
  gateway = await TestGateway.start(options);
  return [await gateway.newChat(), await gateway.newChat()];
}

async function follow(chats: Readonly<Record<string, number>>): Promise<Line> {
  const line = await Line.openSeveral(gateway, chats);
  lines.push(line);
  return line;
}

const eventsOf = (line: Line, chat: string): WebEvent[] =>
  line.frames.flatMap(({ data }) => {
    const about = data as { chat: string; event: WebEvent } | undefined;
    return about?.chat === chat ? [about.event] : [];
  });
const textsOf = (line: Line, chat: string): string[] =>
  eventsOf(line, chat).flatMap((event) => (event.kind === 'message' ? [event.message.text] : []));

describe('the event stream of a browser', () => {
  it('carries several chats, each from its own number on', async () => {
    const [one, other] = await start();
    for (const text of ['a', 'b', 'c']) await gateway.say(one, text);
    await gateway.say(other, 'd');
    const line = await follow({ [one]: 2, [other]: 0 });
    await line.until('both have caught up', () => textsOf(line, one).length === 1 && textsOf(line, other).length === 1);
    await gateway.say(other, 'e');
    await gateway.say(one, 'f');
    await line.until('both go on', () => textsOf(line, one).length === 2 && textsOf(line, other).length === 2);
    expect([textsOf(line, one), textsOf(line, other)]).toEqual([
      ['c', 'f'],
      ['d', 'e'],
    ]);
    gateway.channel.activity(placeOf(other), { kind: 'turn-started', turn: 't1' });
    await line.until('the turn is shown', () => eventsOf(line, other).some(({ kind }) => kind === 'activity'));
    for (const chat of [one, other]) expect(eventsOf(line, chat).filter(({ kind }) => kind === 'now').length).toBe(1);
  });

  it('shows that it is there while it carries no chat', async () => {
    await start({ limits: { beatEveryMs: 10 } });
    const line = await follow({});
    await line.until('it beats', () => line.frames.filter(({ event }) => event === 'ping').length > 3);
  });

  it('says nothing of a chat that does not exist or belongs to another person, and carries the others', async () => {
    const [one] = await start();
    const at = new Date();
    await gateway.store.webLog.createChat({ id: 'of-another', person: 'other', title: 'secret', startedAt: at, lastActiveAt: at });
    const line = await follow({ nowhere: 0, 'of-another': 0, [one]: 0 });
    await gateway.say(one, 'a');
    await line.until('the message is there', () => textsOf(line, one).length === 1);
    expect([eventsOf(line, 'nowhere'), eventsOf(line, 'of-another')]).toEqual([[], []]);
  });

  it('counts as one follower, and has a maximum of chats', async () => {
    const [one, other] = await start({ limits: { maxFollowers: 1, maxFollowedChats: 2 } });
    const line = await follow({ [one]: 0, [other]: 0 });
    expect(line.status).toBe(200);
    expect((await follow({})).status).toBe(503);
    line.close();
    await until('there is room again', async () => {
      const next = await follow({});
      next.close();
      return next.status === 200;
    });
    expect((await follow({ [one]: 0, [other]: 0, third: 0 })).status).toBe(400);
  });

  it.each(['x', 'x:', 'x:-1', 'x:1.5', 'x:1:2', 'x:9999999999999999'])('refuses a chat without its number: %s', async (chat) => {
    await start();
    expect((await gateway.call(`/api/events?chat=${chat}`)).status).toBe(400);
  });

  it('answers a page that looks whether it is back', async () => {
    await start();
    expect((await gateway.call('/api/ping')).status).toBe(204);
  });
});
