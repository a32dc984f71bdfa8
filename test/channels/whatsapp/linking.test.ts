import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { Accepted } from '../../contracts/channel-harness.ts';
import { KeptNotes } from '../../contracts/kept-notes.ts';
import { FakeWhatsApp } from '../../fakes/whatsapp/server.ts';
import { shownIn } from '../../fakes/whatsapp/shown.ts';
import { until } from '../../until.ts';
import { channelAt, linkBefore, placeOf } from './harness.ts';

let server: FakeWhatsApp;
let notes: KeptNotes;
let log: string[];
let accepted: Accepted;
let created: Channel[];
beforeEach(async () => {
  server = await FakeWhatsApp.start();
  notes = new KeptNotes();
  log = [];
  accepted = new Accepted();
  created = [];
});
afterEach(async () => {
  await Promise.all(created.map((one) => one.stop()));
  await server.close();
});

const create = (options: Record<string, unknown> = {}): Channel => {
  const channel = channelAt(server, notes, (sentence) => log.push(sentence), { options });
  created.push(channel);
  return channel;
};
const qrOf = ({ state }: Channel): string | undefined => (state.kind === 'linking' ? state.qr : undefined);

it('an account is linked by scanning the QR code, and stays linked for the next program', async () => {
  const channel = create();
  await channel.start(accepted.accept);
  const qr = await until('there is a QR code', () => qrOf(channel));
  server.scan(qr);
  await until('it is up', () => channel.state.kind === 'up');
  server.says(server.ada, 'A1', { conversation: 'hello' });
  expect(await accepted.message()).toMatchObject({ text: 'hello', from: { id: server.ada.phone } });
  await channel.send(placeOf(server.ada.phone), { text: 'welcome' });
  expect(shownIn(server, server.ada.phone)).toMatchObject([{ text: 'welcome' }]);
  await channel.stop();
  const next = create();
  await next.start(accepted.accept);
  expect(next.state.kind).toBe('up');
});

it('what is in the QR code appears in no line of the log and in no note', async () => {
  const channel = create();
  await channel.start(accepted.accept);
  const qr = await until('there is a QR code', () => qrOf(channel));
  const [, , , secret = 'none'] = qr.split(',');
  expect(log.join('\n')).toContain('waits to be linked');
  for (const text of [...log, ...notes.all.values()]) expect(text).not.toContain(secret);
});

it('a message is refused as busy while no account is linked', async () => {
  const channel = create();
  await channel.start(accepted.accept);
  await expect(channel.send(placeOf(server.ada.phone), { text: 'one' })).rejects.toMatchObject({ code: 'channel/busy' });
});

it('with a phone number, a code is shown instead of a QR code', async () => {
  const channel = create({ pair_with: `+${server.phone.phone}` });
  await channel.start(accepted.accept);
  const state = await until('there is a code', () => (channel.state.kind === 'linking' && channel.state.code ? channel.state : undefined));
  expect(state.code).toMatch(/^[\dA-Z]{4}-[\dA-Z]{4}$/);
  expect(state.qr).toBeUndefined();
  const hello = await until('WhatsApp was asked', () => server.pairingRequests[0]);
  expect(hello.attrs.jid).toBe(server.phone.jid);
  expect(notes.all.has('credentials')).toBe(false);
});

it('a device that is logged out on the phone says so, forgets its keys, and can be linked again', async () => {
  await linkBefore(server, notes);
  const channel = create();
  await channel.start(accepted.accept);
  server.says(server.ada, 'A1', { conversation: 'hello' });
  await accepted.message();
  server.unlink();
  const qr = await until('there is a QR code', () => qrOf(channel));
  expect(channel.state).toMatchObject({ kind: 'linking', reason: expect.stringContaining('logged this device out') });
  expect(log.join('\n')).toContain('logged this device out');
  expect([...notes.all.keys()].filter((key) => key === 'credentials' || key.startsWith('key:'))).toEqual([]);
  server.scan(qr);
  await until('it is up', () => channel.state.kind === 'up');
  server.forgetSessions();
  server.says(server.ada, 'A2', { conversation: 'again' });
  expect(await accepted.message(({ text }) => text === 'again')).toMatchObject({ from: { id: server.ada.phone } });
});

it('a program whose credentials are refused at its start waits to be linked', async () => {
  await linkBefore(server, notes);
  server.unlink();
  const channel = create();
  await channel.start(accepted.accept);
  await until('there is a QR code', () => qrOf(channel));
});

it('a restart that WhatsApp asks for is done at once and is no failure', async () => {
  await linkBefore(server, notes);
  const channel = create();
  await channel.start(accepted.accept);
  server.endStreams(515);
  await until('it is connected again', () => server.logins === 2);
  server.says(server.ada, 'A1', { conversation: 'after it' });
  await accepted.message();
  expect(log).toEqual([]);
});

it.each([
  [440, 'Another program took over'],
  [403, 'refuses this account'],
  [405, 'no longer speaks'],
])('a connection that is ended with %i is down for a reason, and the account stays linked', async (code, reason) => {
  await linkBefore(server, notes);
  const channel = create();
  await channel.start(accepted.accept);
  server.endStreams(code);
  await until('it is down', () => channel.state.kind === 'down');
  expect(channel.state).toMatchObject({ reason: expect.stringContaining(reason) });
  expect(notes.all.has('credentials')).toBe(true);
});

it('stopping ends every connection and does not log out', async () => {
  await linkBefore(server, notes);
  const channel = create();
  await channel.start(accepted.accept);
  expect(server.connections).toBe(1);
  await channel.stop();
  await until('no connection is left', () => server.connections === 0);
  expect(server.logouts).toBe(0);
});

it('stopping while it waits to be linked ends every connection', async () => {
  const channel = create();
  await channel.start(accepted.accept);
  await until('there is a QR code', () => qrOf(channel));
  await channel.stop();
  await until('no connection is left', () => server.connections === 0);
  expect(channel.state.kind).toBe('stopped');
});

it('an answer of somebody between us and WhatsApp does not make it forget the account', async () => {
  await linkBefore(server, notes);
  server.upgradeRefusal = 401;
  const channel = create();
  await channel.start(accepted.accept);
  expect(channel.state).toMatchObject({ kind: 'down', reason: 'WhatsApp: no connection.' });
  expect(notes.all.has('credentials')).toBe(true);
  server.upgradeRefusal = undefined;
  await until('it is up', () => channel.state.kind === 'up');
});

it('a QR code of a connection that has ended is not shown any longer, and the next one is', async () => {
  const channel = create();
  await channel.start(accepted.accept);
  await until('there is a QR code', () => qrOf(channel));
  await server.goDown();
  await until('it is gone', () => qrOf(channel) === undefined);
  await until('it is down', () => channel.state.kind === 'down');
  await server.comeUp();
  server.scan(await until('there is another one', () => qrOf(channel)));
  await until('it is up', () => channel.state.kind === 'up');
  expect(log.filter((line) => line.includes('waits to be linked')).length).toBeLessThanOrEqual(2);
});
