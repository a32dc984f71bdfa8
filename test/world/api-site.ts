import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { echoSite } from './echo-site.ts';
import { guarded, hasToken } from './guarded.ts';
import type { Site } from './registries.ts';

const words = ['one', 'two', 'three'];
/** Answers that send their next word when a client asks for it. */
const streaming = new Set<() => void>();

/** An interface with a key, like those of model providers, which also says the credential that it was sent in every way a host might. */
export const apiSite: Site = (request, response, path) => {
  if (path === '/v1/chat/completions') guarded(complete, 'API_KEY')(request, response, path);
  else if (path === '/v1/next') {
    for (const send of streaming) send();
    response.end();
  } else if (path.startsWith('/tell/')) tell(request, response, path.slice('/tell/'.length));
  else if (path.startsWith('/files/')) keepFile(request, response, path);
  else echoSite(request, response, path);
};

const files = new Map<string, Buffer>();

/** Keeps what is put there, and gives it back in chunks. */
function keepFile(request: IncomingMessage, response: ServerResponse, path: string): void {
  if (request.method !== 'PUT') {
    response.flushHeaders();
    response.write(files.get(path) ?? '');
    response.end();
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    files.set(path, Buffer.concat(pieces));
    response.end();
  });
}

/** Server-sent events, each of them only when the client has seen the one before. */
const complete: Site = (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const left = [...words];
  const send = (): void => {
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: left.shift() } }] })}\n\n`);
    if (left.length === 0) response.end('data: [DONE]\n\n');
  };
  streaming.add(send);
  response.on('close', () => streaming.delete(send));
  send();
};

const encodings: Readonly<Record<string, (data: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  // No encoding at all, but no program of the gateway knows that.
  unknown: (data) => data,
};

const spellings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify({ text }),
  // As PHP, .NET and Go write it.
  slashes: (text) => JSON.stringify({ text }).replaceAll('/', '\\/'),
  punctuation: (text) => text.replaceAll(/\W/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16).toUpperCase()}`),
  html: (text) => text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`),
  lines: (text) => Buffer.from(text).toString('base64').replaceAll(/.{20}/g, '$&\r\n'),
  url: encodeURIComponent,
  hex: (text) => Buffer.from(text).toString('hex'),
  'upper-hex': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  base64: (text) => [0, 1, 2].map((before) => Buffer.from('.'.repeat(before) + text).toString('base64')).join('\n'),
  // Not looked for, as docs/network.md says.
  letters: (text) => [...text].join(' '),
  base64url: (text) => [0, 1, 2].map((before) => Buffer.from('.'.repeat(before) + text).toString('base64url')).join('\n'),
};

/** Says the key in the way that the path names. The answer begins with `told `, so that an empty one is noticed. */
function tell(request: IncomingMessage, response: ServerResponse, way: string): void {
  const key = String(request.headers['x-api-key'] ?? '');
  const encode = encodings[way];
  if (encode) {
    response.writeHead(200, { 'content-encoding': way });
    response.end(encode(Buffer.from(`told ${key}`)));
  } else if (way === 'header') {
    response.writeHead(200, { 'x-told': key, 'set-cookie': [`a=${key}`, `b=${encodeURIComponent(key)}`], location: `/?key=${key}` });
    response.end('told');
  } else if (way === 'range') {
    const told = Buffer.from(`told ${key}`);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    response.writeHead(from === undefined ? 200 : 206);
    response.end(from === undefined ? told : told.subarray(Number(from), Number(to) + 1));
  } else if (way === 'reason') {
    response.writeHead(200, key);
    response.end('told');
  } else if (way === 'trailer') {
    response.writeHead(200, { trailer: 'x-told' });
    response.write('told ');
    response.addTrailers({ 'x-told': key });
    response.end();
  } else if (way === 'bytes') {
    response.write('told ');
    const bytes = [...key];
    const timer = setInterval(() => {
      response.write(bytes.shift() ?? '');
      if (bytes.length === 0) response.end();
    }, 2);
    response.on('close', () => clearInterval(timer));
  } else response.end(`told ${spellings[way]?.(key) ?? ''}`);
}

/** Switches to WebSocket for a client with the key: says its credential, then everything that it is sent, in frames of text. */
export function acceptWebSocket(request: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => undefined);
  if (!hasToken(request, 'API_KEY')) {
    socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    return;
  }
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const extensions = request.headers['sec-websocket-extensions'] ?? 'none';
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nX-Extensions: ${extensions}\r\n\r\n`,
  );
  const say = (text: string): void => void socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]));
  say(`told ${request.headers.authorization}`);
  socket.on('data', (frame: Buffer) => {
    const length = (frame[1] ?? 0) & 0x7f;
    const mask = frame.subarray(2, 6);
    if (((frame[0] ?? 0) & 0x0f) === 1)
      say(
        frame
          .subarray(6, 6 + length)
          .map((byte, at) => byte ^ (mask[at % 4] ?? 0))
          .toString(),
      );
    else socket.end(Buffer.from([0x88, 0]));
  });
}
