import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/core/audit.ts';
import { browserName } from '../../src/http/browser-name.ts';
import type { SignInView } from '../../src/http/parts.ts';
import { openStore } from '../../src/stores/index.ts';
import { until } from '../until.ts';
import { type GatewayOptions, TestGateway, token } from './gateway.ts';
import { Line } from './sse.ts';

let gateway: TestGateway;
afterEach(() => gateway?.remove());

async function start(options: GatewayOptions = {}): Promise<void> {
  gateway = await TestGateway.start(options);
}

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';

const asPage = (more: Record<string, string> = {}): Record<string, string> => ({
  origin: new URL(gateway.url).origin,
  'x-hermetic': '1',
  'content-type': 'application/json',
  ...more,
});

/** Resolves with the cookie; empty when the browser was not let in. */
async function signIn(secret: object, userAgent = firefox): Promise<string> {
  const headers = asPage({ 'user-agent': userAgent });
  const answer = await fetch(new URL('/api/login', gateway.url), { method: 'POST', headers, body: JSON.stringify(secret) });
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

const ask = (path: string, cookie: string, method = 'GET'): Promise<Response> =>
  fetch(new URL(path, gateway.url), { method, headers: asPage({ cookie }) });
const statusOf = async (cookie: string): Promise<number> => (await ask('/api/chats', cookie)).status;
const listed = async (cookie: string): Promise<SignInView[]> =>
  ((await (await ask('/api/sign-ins', cookie)).json()) as { signIns: SignInView[] }).signIns;
const records = (): Promise<AuditRecord[]> => gateway.store.audit.list({ kind: 'page' }, 1000);
const codeOf = (link: string) => ({ code: link.split('#code=')[1] ?? '' });

describe('sign-ins', () => {
  it('lists each browser with what let it in, and ends one without the others', async () => {
    await start();
    const desk = await signIn(codeOf(gateway.server.newLink()));
    const phone = await signIn({ token }, safari);
    const found = await listed(desk);
    expect(found).toHaveLength(2);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ browser: 'Firefox 140 on Linux', network: 'this machine', by: 'link', isThis: true }),
        expect.objectContaining({ browser: 'Safari 18 on iPhone', network: 'this machine', by: 'token', isThis: false }),
      ]),
    );
    const other = found.find(({ isThis }) => !isThis)?.id;
    expect((await ask(`/api/sign-ins/${other}`, desk, 'DELETE')).status).toBe(200);
    expect([await statusOf(phone), await statusOf(desk)]).toEqual([401, 200]);
    expect((await ask(`/api/sign-ins/${other}`, desk, 'DELETE')).status).toBe(404);
    expect(await listed(desk)).toHaveLength(1);
  });

  it('names the network of a browser behind a server that is told to be there', async () => {
    await start({ server: { behindTls: true, publicUrl: 'https://chat.example' } });
    const headers = { ...asPage(), host: 'chat.example', origin: 'https://chat.example', 'x-forwarded-for': '1.2.3.4, 2001:db8::7' };
    const sent = request({ host: '127.0.0.1', port: gateway.server.port, path: '/api/login', method: 'POST', headers }).end(
      JSON.stringify({ token }),
    );
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
    expect(await gateway.store.signIns.list(new Date())).toMatchObject([{ network: '2001:db8:0:0::/64' }]);
  });

  it('signing out ends the cookie itself, not only what the browser keeps of it', async () => {
    await start();
    const cookie = await signIn({ token });
    expect((await ask('/api/logout', cookie, 'POST')).status).toBe(200);
    expect(await statusOf(cookie)).toBe(401);
    expect(await records()).toMatchObject([{ outcome: 'signed in' }, { outcome: 'signed out', actor: 'web:owner' }]);
  });

  it.each(['this program', 'another program'])('ends the streams of a sign-in that %s ends, and no others', async (who) => {
    await start();
    const chat = await gateway.newChat();
    const [one, other] = [await signIn({ token }), await signIn({ token })];
    const headersOf = (cookie: string) => ({ authorization: '', cookie, 'sec-fetch-site': 'same-origin' });
    const lines = await Promise.all([one, other].map((cookie) => Line.open(gateway, chat, headersOf(cookie))));
    const program = await Line.open(gateway, chat);
    const [first, second] = lines;
    expect(lines.map(({ status }) => status)).toEqual([200, 200]);
    const id = (await listed(one)).find(({ isThis }) => isThis)?.id ?? '';
    if (who === 'this program') await ask(`/api/sign-ins/${id}`, other, 'DELETE');
    else {
      const store = await openStore(join(gateway.home, 'state.db'));
      await store.signIns.end(id, 'shell:test', new Date());
      await store.close();
    }
    await until('its stream has ended', () => first?.isEnded);
    await gateway.say(chat, 'still there');
    await until('the others hear on', () => second?.messages.length === 1 && program.messages.length === 1);
    expect([second?.isEnded, program.isEnded]).toEqual([false, false]);
    for (const line of [...lines, program]) line.close();
  });

  it('keeps no cookie and nothing of the token in the database', async () => {
    await start();
    const value = (await signIn({ token })).split('=')[1] ?? '';
    expect(value).toMatch(/^[\w-]{43}$/);
    const database = new DatabaseSync(join(gateway.home, 'state.db'), { readOnly: true });
    const rows = JSON.stringify(database.prepare('select * from sign_ins').all());
    database.close();
    expect(rows).toContain('Firefox 140 on Linux');
    expect(rows).not.toContain(value);
    expect(rows).not.toContain(token);
  });

  it('a link whose sign-in could not be stored is still good', async () => {
    await start();
    const link = codeOf(gateway.server.newLink());
    const database = new DatabaseSync(join(gateway.home, 'state.db'));
    database.exec("create trigger full before insert on sign_ins begin select raise(abort, 'no room'); end");
    expect(await signIn(link)).toBe('');
    database.exec('drop trigger full');
    database.close();
    expect(await signIn(link)).not.toBe('');
    expect((await records()).map(({ outcome }) => outcome)).toEqual(['signed in']);
  });

  it('admits no cookie of a shape that was never given out', async () => {
    await start({ limits: { failuresPerMinute: 1000 } });
    const [name = ''] = (await signIn({ token })).split('=');
    const values = ['', '1.9.x.y', randomBytes(32).toString('base64url'), 'a'.repeat(43), "' or 1=1 --", 'x'.repeat(4000)];
    for (const value of values) expect(await statusOf(`${name}=${encodeURIComponent(value)}`)).toBe(401);
  });
});

describe('records of the page', () => {
  it('has one of every sign-in, link, and attempt', async () => {
    await start();
    await signIn({ token: `${token}x` });
    await signIn({ code: 'a'.repeat(32) }, 'curl/8.0');
    await gateway.call('/api/chats', { headers: { authorization: 'Bearer wrong' } });
    const { url } = (await (await gateway.post('/api/links')).json()) as { url: string };
    await signIn(codeOf(url));
    expect(await records()).toMatchObject([
      { actor: 'unknown', outcome: 'refused', what: { browser: 'Firefox 140 on Linux', network: 'this machine', why: 'a wrong token' } },
      { actor: 'unknown', outcome: 'refused', what: { browser: 'curl/8.0', why: 'a link that was used or is too old' } },
      { actor: 'unknown', outcome: 'refused', what: { why: 'a wrong token' } },
      { actor: 'web:owner', outcome: 'link made' },
      { actor: 'web:owner', outcome: 'signed in', what: { by: 'link', browser: 'Firefox 140 on Linux' } },
    ]);
    expect(JSON.stringify(await records())).not.toContain(codeOf(url).code);
  });

  it('has a few of somebody who guesses without end, and none of a request without anything', async () => {
    await start({ limits: { failuresPerMinute: 10_000, requestsPerMinute: 10_000 } });
    for (let guess = 0; guess < 100; guess++) await signIn({ token: `${token}${guess}` });
    for (let request = 0; request < 10; request++) await fetch(new URL('/api/chats', gateway.url));
    const found = await records();
    expect(found.length).toBeGreaterThan(0);
    // Some more where the guesses take long.
    expect(found.length).toBeLessThan(20);
  });

  it('a change of a secret is in the log before it is made, without the value', async () => {
    await start();
    const value = `ghp_${'v'.repeat(36)}`;
    const put = (body: object): Promise<Response> =>
      gateway.call('/api/secrets/GITHUB_TOKEN', {
        method: 'PUT',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    await put({ hosts: ['github.com'], value });
    await put({ hosts: ['github.com', 'api.github.com'] });
    expect((await put({ hosts: ['not a host'] })).status).toBe(400);
    await gateway.call('/api/secrets/GITHUB_TOKEN', { method: 'DELETE' });
    const found = await gateway.store.audit.list({ kind: 'secret' }, 100);
    expect(found).toMatchObject([
      { actor: 'web:owner', outcome: 'stored', what: { name: 'GITHUB_TOKEN', hosts: ['github.com'] } },
      { actor: 'web:owner', outcome: 'bound', what: { name: 'GITHUB_TOKEN', hosts: ['github.com', 'api.github.com'] } },
      { actor: 'web:owner', outcome: 'removed', what: { name: 'GITHUB_TOKEN' } },
    ]);
    expect(JSON.stringify(found)).not.toContain(value);
  });
});

describe('the name of a browser', () => {
  it.each([
    [firefox, 'Firefox 140 on Linux'],
    [safari, 'Safari 18 on iPhone'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
      'Edge 140 on Windows',
    ],
    [
      'Mozilla/5.0 (Linux; Android 15; SM-S928B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
      'Samsung Internet 28 on Android',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
      'Safari 18 on macOS',
    ],
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/138.0.0.0 Safari/537.36',
      'Chrome 138 on Linux',
    ],
    ['curl/8.0', 'curl/8.0'],
    ['', 'unknown'],
    [`x\u0000\u202e${'y'.repeat(1000)}`, `x  ${'y'.repeat(57)}`],
  ])('%s', (userAgent, name) => expect(browserName(userAgent)).toBe(name));
});
