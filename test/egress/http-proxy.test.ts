import { createServer, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type RigOptions, SessionRig } from './session-rig.ts';

let rig: SessionRig;
afterEach(async () => await rig.stop());

/** Requests that arrived at a host, with their bodies. */
interface Arrived {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
}

/** A host on port 80 that answers every request with `answer`. */
async function open(options: RigOptions = {}): Promise<Arrived[]> {
  const arrived: Arrived[] = [];
  rig = await new SessionRig({ allow: ['api.test'], ...options }).start();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers, rawHeaders } = request;
      arrived.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() });
      response.writeHead(200, { 'X-Answer': 'yes', 'Keep-Alive': 'timeout=9', Connection: 'X-Private, close', 'X-Private': 'secret' });
      response.end(`hello from ${request.headers.host}${request.url}`);
    });
  });
  await rig.serve(80, server);
  return arrived;
}

async function send(text: string): Promise<string> {
  const peer = await rig.connect();
  peer.socket.write(text);
  return await peer.ended();
}

const get = (url: string, ...headers: string[]): string =>
  [`GET ${url} HTTP/1.1`, 'Host: api.test', 'Connection: close', ...headers, '', ''].join('\r\n');

describe('plain HTTP through the proxy', () => {
  it('reaches an allowed host with the path and query as they are written', async () => {
    const arrived = await open();
    const answer = await send(get('http://API.test:80/a/../b%2f?x=1'));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('hello from api.test/a/../b%2f?x=1');
    expect(arrived).toMatchObject([{ method: 'GET', url: '/a/../b%2f?x=1' }]);
  });
});
