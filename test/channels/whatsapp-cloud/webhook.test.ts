import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Webhook, type WebhookLimits } from '../../../src/channels/whatsapp-cloud/webhook.ts';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';

const appSecret = '0123456789abcdef0123456789abcdef';
const verifyToken = 'a-word-that-only-we-know';
const signed = (body: string | Buffer, secret = appSecret) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

let port: number;
let webhook: Webhook;
/** What reached the channel. */
let bodies: string[];
let deliver: (body: Buffer) => Promise<boolean>;

async function open(limits?: WebhookLimits): Promise<void> {
  const parts = { host: '127.0.0.1', port, path: '/whatsapp', appSecret, verifyToken, log: () => undefined };
  webhook = new Webhook({ ...parts, deliver: (body) => deliver(body) }, limits);
  await webhook.open();
}

beforeEach(async () => {
  port = await freePort();
  bodies = [];
  deliver = async (body) => {
    bodies.push(String(body));
    return true;
  };
});
afterEach(() => webhook.close());

interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

async function ask({ method = 'POST', path = '/whatsapp', headers = {}, body = '' }: Asked) {
  const asked = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
  asked.on('error', () => undefined);
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
}

describe('signatures', () => {
  it('takes a body that Meta has signed', async () => {
    await open();
    const body = '{"a":"ä"}';
    expect(await ask({ body, headers: { 'x-hub-signature-256': signed(body) } })).toMatchObject({ status: 200, text: '' });
    expect(bodies).toEqual([body]);
  });

  const body = '{"object":"whatsapp_business_account"}';
  it.each<[string, Record<string, string | string[]>]>([
    ['without a signature', {}],
    ['with an empty signature', { 'x-hub-signature-256': '' }],
    ['with the signature of another secret', { 'x-hub-signature-256': signed(body, 'another') }],
    ['with the signature of an empty secret', { 'x-hub-signature-256': signed(body, '') }],
    ['with the signature of another body', { 'x-hub-signature-256': signed(`${body} `) }],
    ['with a signature that is too short', { 'x-hub-signature-256': signed(body).slice(0, -2) }],
    ['with a signature that is too long', { 'x-hub-signature-256': `${signed(body)}00` }],
    ['with a signature in another form', { 'x-hub-signature-256': signed(body).slice('sha256='.length) }],
    ['with a signature of the old kind only', { 'x-hub-signature': `sha1=${createHmac('sha1', appSecret).update(body).digest('hex')}` }],
    ['with two signatures', { 'x-hub-signature-256': [signed(body), signed(body)] }],
  ])('answers 401 and delivers nothing: a body %s', async (_, headers) => {
    await open();
    expect(await ask({ body, headers })).toMatchObject({ status: 401, text: '' });
    expect(bodies).toEqual([]);
  });

  it('does not read a body that claims no signature', async () => {
    await open();
    const answer = await ask({ headers: { 'content-length': '3000000' }, body: 'the beginning of it' });
    expect(answer.status).toBe(401);
  });

  it('has a body come again that was not accepted', async () => {
    deliver = async () => false;
    await open();
    expect(await ask({ body, headers: { 'x-hub-signature-256': signed(body) } })).toMatchObject({ status: 503, text: '' });
  });
});

describe('limits', () => {
  const small: WebhookLimits = { maxBodyBytes: 1000, maxReadingBytes: 3000, bodyMs: 200 };

  it('refuses a body that says it is too large', async () => {
    await open(small);
    const body = 'x'.repeat(1001);
    expect(await ask({ body, headers: { 'x-hub-signature-256': signed(body) } })).toMatchObject({ status: 413, text: '' });
    expect(bodies).toEqual([]);
  });

  it('refuses a body that turns out to be too large', async () => {
    await open(small);
    const body = 'x'.repeat(1001);
    const headers = { 'x-hub-signature-256': signed(body), 'transfer-encoding': 'chunked' };
    expect((await ask({ body, headers })).status).toBe(413);
    expect(bodies).toEqual([]);
  });

  it('takes a body of exactly the size', async () => {
    await open(small);
    const body = 'x'.repeat(1000);
    expect((await ask({ body, headers: { 'x-hub-signature-256': signed(body) } })).status).toBe(200);
  });

  /** Says that there is more, and sends no more. */
  async function hang(count: number): Promise<{ socket: Socket; said: () => string }> {
    const socket = connect(port, '127.0.0.1');
    let said = '';
    socket.on('data', (data) => {
      said += data;
    });
    socket.on('error', () => undefined);
    const head = `POST /whatsapp HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: ${signed('')}\r\ncontent-length: 1000\r\n\r\n`;
    socket.write(head + 'x'.repeat(count));
    return { socket, said: () => said };
  }

  it('ends a connection whose body does not come', async () => {
    await open(small);
    const { socket } = await hang(10);
    await once(socket, 'close');
    expect(bodies).toEqual([]);
  });

  it('reads no more bodies at once than fit into its memory', async () => {
    await open({ ...small, bodyMs: 60_000 });
    const hanging = await Promise.all([1, 2, 3, 4].map(() => hang(900)));
    await until('one is sent away', () => hanging.some(({ said }) => said().startsWith('HTTP/1.1 503')));
    for (const { socket } of hanging) socket.destroy();
    const body = 'x'.repeat(1000);
    await until('there is room again', async () => (await ask({ body, headers: { 'x-hub-signature-256': signed(body) } })).status === 200);
  });
});

describe('the verification', () => {
  const path = (query: Record<string, string>) => `/whatsapp?${new URLSearchParams(query)}`;
  const right = { 'hub.mode': 'subscribe', 'hub.verify_token': verifyToken, 'hub.challenge': '1158201444' };

  it('answers the challenge as plain text', async () => {
    await open();
    const { status, text: said, headers } = await ask({ method: 'GET', path: path(right) });
    expect({ status, said }).toEqual({ status: 200, said: '1158201444' });
    expect(headers).toMatchObject({ 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' });
  });

  it.each([
    ['a wrong token', { ...right, 'hub.verify_token': 'another' }],
    ['no token', { 'hub.mode': 'subscribe', 'hub.challenge': '1' }],
    ['another mode', { ...right, 'hub.mode': 'unsubscribe' }],
    ['no challenge', { 'hub.mode': 'subscribe', 'hub.verify_token': verifyToken }],
    ['a challenge that is a page', { ...right, 'hub.challenge': '<script>alert(1)</script>' }],
    ['a challenge that is very long', { ...right, 'hub.challenge': '1'.repeat(1000) }],
  ])('answers nothing to %s', async (_, query) => {
    await open();
    expect(await ask({ method: 'GET', path: path(query) })).toMatchObject({ status: 403, text: '' });
  });
});

describe('everything else', () => {
  it.each(['/', '/whatsapp/', '//whatsapp', '/whatsapp/../whatsapp', '/WhatsApp', '/api/sessions', 'http://x/whatsapp'])(
    'knows no address %s',
    async (path) => {
      await open();
      expect(await ask({ path, headers: { 'x-hub-signature-256': signed('') } })).toMatchObject({ status: 404, text: '' });
      expect(bodies).toEqual([]);
    },
  );

  it.each(['PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'])('takes no %s', async (method) => {
    await open();
    expect(await ask({ method, headers: { 'x-hub-signature-256': signed('') } })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST' },
    });
    expect(bodies).toEqual([]);
  });

  it('says nothing about itself', async () => {
    await open();
    const { headers } = await ask({ path: '/' });
    expect(Object.keys(headers).toSorted()).toEqual(['connection', 'content-length', 'content-type', 'date', 'x-content-type-options']);
  });

  it('ends all connections when it closes', async () => {
    await open();
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const ended = once(socket, 'close');
    socket.resume();
    await webhook.close();
    await ended;
    const second = connect(port, '127.0.0.1');
    await expect(once(second, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('lets what is being delivered be answered when it closes', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    deliver = async (body) => {
      bodies.push(String(body));
      return await promise;
    };
    await open();
    const answer = ask({ body: 'x', headers: { 'x-hub-signature-256': signed('x') } });
    await until('it is delivered', () => bodies.length === 1);
    const closed = webhook.close();
    resolve(true);
    expect((await answer).status).toBe(200);
    await closed;
  });

  it('names the port that another program uses', async () => {
    await open();
    const other = new Webhook({ host: '127.0.0.1', port, path: '/x', appSecret, verifyToken, log: () => undefined, deliver });
    await expect(other.open()).rejects.toMatchObject({
      code: 'channel/unusable',
      message: expect.stringContaining(`port ${port}`),
      hint: expect.stringContaining('webhook_port'),
    });
    await other.close();
  });
});
