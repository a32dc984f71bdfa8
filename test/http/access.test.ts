import { once } from 'node:events';
import { chmodSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { tokenIn } from '../../src/http/token.ts';
import { freePort } from '../free-port.ts';
import { type GatewayOptions, newHome, TestGateway, token } from './gateway.ts';

let gateway: TestGateway;
afterEach(() => gateway?.remove());

async function start(options: GatewayOptions = {}): Promise<TestGateway> {
  gateway = await TestGateway.start(options);
  return gateway;
}

/** Unlike fetch, says whatever it is told to say in any header. */
async function ask(
  path: string,
  headers: Record<string, string> = {},
  { method = 'GET', body = '' } = {},
): Promise<{ status: number; headers: Record<string, string | string[] | undefined>; text: string }> {
  return await new Promise((resolve, reject) => {
    const sent = request(
      { agent: false, host: '127.0.0.1', port: gateway.server.port, path, method, headers: { ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const origin = () => new URL(gateway.url).origin;
const asPage = (more: Record<string, string> = {}) => ({
  origin: origin(),
  'x-hermetic': '1',
  'sec-fetch-site': 'same-origin',
  'content-type': 'application/json',
  ...more,
});

async function logIn(body: unknown): Promise<{ status: number; cookie: string; setCookie: string }> {
  const { status, headers } = await ask('/api/login', asPage(), { method: 'POST', body: JSON.stringify(body) });
  const setCookie = String(headers['set-cookie'] ?? '');
  return { status, setCookie, cookie: setCookie.split(';')[0] ?? '' };
}

const codeIn = (link: string) => ({ code: link.split('#code=')[1] ?? '' });

describe('access by token, link and cookie', () => {
  const closed: readonly (readonly [method: string, path: string])[] = [
    ['GET', '/metrics'],
    ['GET', '/api/status'],
    ['GET', '/api/chats'],
    ['POST', '/api/chats'],
    ['POST', '/api/links'],
    ['POST', '/api/logout'],
    ['GET', '/api/sign-ins'],
    ['DELETE', '/api/sign-ins/x'],
    ['GET', '/api/secrets'],
    ['PUT', '/api/secrets/NAME'],
    ['DELETE', '/api/secrets/NAME'],
    ['GET', '/api/events'],
    ['GET', '/api/ping'],
    ['GET', '/api/chats/x/messages'],
    ['POST', '/api/chats/x/messages'],
    ['GET', '/api/chats/x/events'],
    ['POST', '/api/chats/x/press'],
    ['POST', '/api/chats/x/stop'],
    ['POST', '/api/chats/x/files'],
    ['GET', '/api/chats/x/files/y'],
    ['GET', '/api/nothing'],
  ];

  it('refuses every path without a token or cookie, but for the page', async () => {
    await start({ limits: { failuresPerMinute: 1000 } });
    for (const [method, path] of closed) {
      for (const headers of [
        {},
        { authorization: 'Bearer wrong' },
        { authorization: `Basic ${token}` },
        { cookie: `hermetic-${gateway.server.port}=1.9.x.y` },
      ]) {
        expect([method, path, (await ask(path, { ...asPage(), ...headers }, { method })).status]).toEqual([method, path, 401]);
      }
    }
    expect((await ask('/')).status).toBe(200);
  });

  it('admits a request with the token', async () => {
    await start();
    expect((await gateway.call('/api/chats')).status).toBe(200);
    expect(await (await gateway.call('/metrics')).text()).toBe('hermetic_up 1\n');
    expect(await (await gateway.call('/api/status')).json()).toMatchObject({ summary: { value: 'bubblewrap · proven' } });
  });

  it('a link logs a browser in once, with a cookie that no script can read and no other site can use', async () => {
    await start();
    const link = gateway.server.newLink();
    expect(link).toMatch(/^http:\/\/localhost:\d+\/#code=[\w-]{32}$/);
    const first = await logIn(codeIn(link));
    expect(first).toMatchObject({ status: 200, setCookie: expect.stringMatching(/HttpOnly; SameSite=Strict$/) });
    expect(first.setCookie).toMatch(/Max-Age=\d+; Path=\/;/);
    expect((await ask('/api/chats', { cookie: first.cookie })).status).toBe(200);
    expect(await logIn(codeIn(link))).toMatchObject({ status: 401, setCookie: '' });
  });

  it('gives a new link for the token, and admits no guessed code', async () => {
    await start();
    const { url } = (await (await gateway.post('/api/links')).json()) as { url: string };
    expect((await logIn({ code: 'a'.repeat(32) })).status).toBe(401);
    expect((await logIn(codeIn(url))).status).toBe(200);
  });

  it('the typed token logs a browser in', async () => {
    await start();
    const { status, cookie } = await logIn({ token });
    expect(status).toBe(200);
    expect(cookie).not.toContain(token);
    expect((await logIn({ token: `${token}x` })).status).toBe(401);
  });

  it('a login survives a restart, and ends when the token changes', async () => {
    await start();
    const { cookie } = await logIn({ token });
    const { port } = gateway.server;
    await gateway.close();
    gateway = await TestGateway.start({ home: gateway.home, port });
    expect((await ask('/api/chats', { cookie })).status).toBe(200);
    await gateway.close();
    gateway = await TestGateway.start({ home: gateway.home, port, server: { token: 'another-token-of-thirty-two-characters' } });
    expect((await ask('/api/chats', { cookie })).status).toBe(401);
  });

  it('rejects a changed cookie', async () => {
    await start({ limits: { failuresPerMinute: 1000 } });
    const { cookie } = await logIn({ token });
    const [name = '', value = ''] = cookie.split('=');
    const forged = [value.slice(1), `${value}x`, `${value}=`, value.toLowerCase(), [...value].reverse().join(''), ''];
    for (const other of forged) expect((await ask('/api/chats', { cookie: `${name}=${other}` })).status).toBe(401);
    expect((await ask('/api/chats', { cookie })).status).toBe(200);
  });

  it('refuses to start with an empty token', async () => {
    await expect(start({ server: { token: '' } })).rejects.toMatchObject({ code: 'config/bad-value' });
  });

  it('limits wrong guesses, and still admits the right token and cookie', async () => {
    await start({ limits: { failuresPerMinute: 3 } });
    const { cookie } = await logIn({ token });
    const [name = ''] = cookie.split('=');
    const guesses = [{ authorization: 'Bearer wrong' }, { cookie: `${name}=1.9.x.y` }, { authorization: `Bearer ${token}x` }];
    for (const guess of guesses) expect((await ask('/api/chats', guess)).status).toBe(401);
    for (const guess of guesses) {
      const refused = await ask('/api/chats', guess);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect((await logIn({ token: 'wrong' })).status).toBe(429);
    expect((await logIn({ code: 'a'.repeat(32) })).status).toBe(429);
    expect((await ask('/api/chats', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await ask('/api/chats', { cookie })).status).toBe(200);
    expect((await logIn({ token })).status).toBe(200);
    expect((await logIn(codeIn(gateway.server.newLink()))).status).toBe(200);
    expect((await ask('/api/chats')).status).toBe(401);
  });

  it('serves the owner while others at the same address exceed their limit', async () => {
    await start({ limits: { requestsPerMinute: 3 } });
    const { cookie } = await logIn({ token });
    const link = codeIn(gateway.server.newLink());
    const others = [{}, { authorization: `Bearer ${token}x` }, { cookie: `${cookie}x` }];
    for (const headers of [...others, ...others]) await ask('/', headers);
    for (const headers of others) expect((await ask('/', headers)).status).toBe(429);
    expect((await ask('/api/chats', { cookie })).status).toBe(200);
    expect((await ask('/api/chats', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await logIn({ token })).status).toBe(200);
    expect((await logIn(link)).status).toBe(200);
  });

  it('refuses to start with a token short enough to be guessed', async () => {
    await expect(start({ server: { token: 'x'.repeat(31) } })).rejects.toMatchObject({ code: 'config/bad-value' });
  });
});

describe('pages of other sites', () => {
  const foreign: Record<string, Record<string, string>> = {
    'with its own origin': { origin: 'https://evil.example' },
    'without an origin': { origin: '' },
    'with the origin of a sandboxed frame': { origin: 'null' },
    'on another port of this machine': { origin: 'http://127.0.0.1:1' },
    'by another scheme': { origin: 'https://127.0.0.1:1' },
    'that a browser says is of this site only': { 'sec-fetch-site': 'same-site' },
    'that a browser says is of another site': { 'sec-fetch-site': 'cross-site' },
    'that sends a form, which cannot carry our header': { 'x-hermetic': '' },
  };

  it.each(Object.entries(foreign))('a page of another site changes nothing with the cookie: %s', async (_case, headers) => {
    await start();
    const { cookie } = await logIn({ token });
    const sent = Object.fromEntries(Object.entries({ ...asPage({ cookie }), ...headers }).filter(([, value]) => value !== ''));
    expect((await ask('/api/chats', sent, { method: 'POST', body: '{}' })).status).toBe(403);
    expect(await (await gateway.call('/api/chats')).json()).toEqual({ chats: [] });
  });

  it('a page of another site reads nothing with the cookie', async () => {
    await start();
    const { cookie } = await logIn({ token });
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site' }, { 'sec-fetch-site': 'cross-site' }]) {
      expect((await ask('/api/chats', { cookie, ...headers })).status).toBe(403);
    }
    expect((await ask('/api/chats', { cookie, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });

  it('a page of another site cannot log a browser in', async () => {
    await start();
    const code = codeIn(gateway.server.newLink());
    const headers = { 'content-type': 'text/plain', origin: 'https://evil.example', 'x-hermetic': '1' };
    expect((await ask('/api/login', headers, { method: 'POST', body: JSON.stringify(code) })).status).toBe(403);
    expect((await ask('/api/login', { origin: origin() }, { method: 'POST', body: JSON.stringify(code) })).status).toBe(403);
    expect((await logIn(code)).status).toBe(200);
  });

  it('refuses a foreign host name that resolves to this machine', async () => {
    await start();
    const headers = { authorization: `Bearer ${token}` };
    for (const host of ['evil.example', `evil.example:${gateway.server.port}`, '127.0.0.1:1', '127.0.0.1']) {
      expect([host, (await ask('/api/chats', { ...headers, host })).status]).toEqual([host, 421]);
      expect([host, (await ask('/', { host })).status]).toEqual([host, 421]);
    }
    expect((await ask('/api/chats', { ...headers, host: `localhost:${gateway.server.port}` })).status).toBe(200);
  });
});

describe('probes', () => {
  const paths = ['/livez', '/healthz', '/readyz'];
  const bearer = { authorization: `Bearer ${token}` };
  const here = () => `127.0.0.1:${gateway.server.port}`;

  it('say with the status and in words whether the gateway lives and is ready', async () => {
    await start();
    for (const path of paths) expect([path, await ask(path, { host: here() })]).toMatchObject([path, { status: 200 }]);
    gateway.health.ready = { ok: false, reasons: ['Nothing can be run.'], down: ['slack is down'] };
    expect((await ask('/livez', { host: here() })).status).toBe(200);
    const { status, text } = await ask('/readyz', { host: here() });
    expect([status, JSON.parse(text)]).toEqual([503, gateway.health.ready]);
    gateway.health.live = { ok: false, reasons: ['The state database takes no writes.'], down: [] };
    for (const path of ['/livez', '/healthz']) expect((await ask(path, { host: here() })).status).toBe(503);
  });

  it.each<Record<string, string>>([
    { host: 'chat.example' },
    { 'x-forwarded-for': '192.0.2.1' },
    { forwarded: 'for=192.0.2.1' },
    { via: '1.1 proxy' },
    { 'x-real-ip': '192.0.2.1' },
    { 'x-forwarded-proto': 'https' },
    { 'cf-connecting-ip': '192.0.2.1' },
  ])('tell others nothing without the token: %j', async (headers) => {
    await start({ server: { host: '0.0.0.0', behindTls: true } });
    for (const path of paths) {
      const refused = await ask(path, { host: here(), ...headers });
      expect([path, refused.status, refused.text]).toEqual([path, 401, expect.not.stringContaining('reasons')]);
      expect((await ask(path, { host: here(), ...headers, ...bearer })).status).toBe(200);
    }
  });

  it('tell nothing without the token to what speaks as a proxy does that was told nothing', async () => {
    await start();
    for (const path of paths) {
      const socket = connect(gateway.server.port, '127.0.0.1');
      socket.end(`GET ${path} HTTP/1.0\r\nHost: ${here()}\r\nConnection: close\r\n\r\n`);
      expect([path, await text(socket)]).toEqual([path, expect.stringMatching(/^HTTP\/1\.1 401 /)]);
    }
  });

  it('are not answered for a page of another site, and nothing is looked for then', async () => {
    let searches = 0;
    await start({
      server: {
        refusalOf: async () => {
          searches += 1;
          return undefined;
        },
      },
    });
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }]) {
      for (const path of paths) expect((await ask(path, { host: here(), ...headers })).status).toBe(401);
    }
    expect(searches).toBe(0);
    expect((await ask('/livez', { host: here(), 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  it('tell a program of a sandbox nothing', async () => {
    await start({ server: { refusalOf: async () => 'A process of a session asked.' } });
    for (const path of paths) expect((await ask(path, { host: here() })).status).toBe(403);
  });

  it('tell a page whose name leads here nothing', async () => {
    await start();
    for (const path of paths) expect((await ask(path, { host: `evil.example:${gateway.server.port}` })).status).toBe(401);
  });
});

describe('listening addresses', () => {
  it('listens on this machine only, unless behind_tls is set', async () => {
    await expect(start({ server: { host: '0.0.0.0' } })).rejects.toMatchObject({
      code: 'config/bad-value',
      hint: expect.stringContaining('behind_tls'),
    });
    await start({ server: { host: '0.0.0.0', behindTls: true } });
    expect((await fetch(`http://127.0.0.1:${gateway.server.port}/`)).status).toBe(200);
  });

  it('trusts only encrypted pages of its own host name behind TLS', async () => {
    await start({ server: { host: '0.0.0.0', behindTls: true } });
    const page = { host: 'chat.example', origin: 'https://chat.example', 'x-hermetic': '1', 'content-type': 'application/json' };
    const post = (headers: Record<string, string>) => ask('/api/login', headers, { method: 'POST', body: JSON.stringify({ token }) });
    const { status, headers } = await post(page);
    expect(status).toBe(200);
    expect(String(headers['set-cookie'])).toMatch(/^__Host-hermetic=.*; HttpOnly; Secure; SameSite=Strict$/);
    expect((await post({ ...page, origin: 'http://chat.example' })).status).toBe(403);
    expect((await post({ ...page, origin: 'https://other.example' })).status).toBe(403);
  });

  it('answers to the host name of its public address, and prints links to it', async () => {
    await start({ server: { behindTls: true, publicUrl: 'https://chat.example/' } });
    expect(gateway.server.newLink()).toMatch(/^https:\/\/chat\.example\/#code=/);
    const headers = { authorization: `Bearer ${token}` };
    expect((await ask('/api/chats', { ...headers, host: 'chat.example' })).status).toBe(200);
    expect((await ask('/api/chats', { ...headers, host: 'other.example' })).status).toBe(421);
  });

  it.each(['127.0.0.1', '::1', 'localhost'])('answers at localhost by both loopback addresses when it listens on %s', async (host) => {
    await start({ server: { host } });
    const { port, url } = gateway.server;
    expect(url).toBe(`http://localhost:${port}/`);
    for (const name of ['localhost', '127.0.0.1', '[::1]']) {
      const { status } = await fetch(`http://${name}:${port}/api/chats`, { headers: { authorization: `Bearer ${token}` } });
      expect([name, status]).toEqual([name, 200]);
    }
  });

  it('prints no link to localhost while another program listens at one of its addresses', async () => {
    const port = await freePort();
    const other = createServer().listen(port, '::1');
    try {
      await once(other, 'listening');
      await start({ port });
      expect(gateway.server.newLink()).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/#code=`));
    } finally {
      other.close();
    }
  });

  it('reports a taken port', async () => {
    await start();
    const taken = gateway;
    await expect(TestGateway.start({ port: taken.server.port })).rejects.toMatchObject({ code: 'config/bad-value' });
  });
});

describe('the token file', () => {
  const home = newHome();
  const path = join(home, 'web-token');
  afterAll(() => rmSync(home, { recursive: true }));

  it('makes the token once, for its owner alone', () => {
    const made = tokenIn(path);
    expect(made).toMatch(/^[\w-]{43}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(tokenIn(path)).toBe(made);
  });

  it('refuses a token file that others can read', () => {
    tokenIn(path);
    chmodSync(path, 0o640);
    expect(() => tokenIn(path)).toThrow(/only you can read/);
  });
});
