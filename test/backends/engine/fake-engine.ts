import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerProduct } from '../../../src/backends/docker/discover.ts';
import { Engine } from '../../../src/backends/engine/engine.ts';

export type Reply = { status: number; body?: unknown } | ((request: http.IncomingMessage, response: http.ServerResponse) => unknown);

export interface FakeEngine extends AsyncDisposable {
  engine: Engine;
  path: string;
  /** `METHOD /path` of each call, with its version. */
  calls: string[];
  /** Answers what `replies` does not. */
  answer: ((request: http.IncomingMessage, response: http.ServerResponse) => void) | undefined;
  /** Cuts every connection. */
  cut(): void;
}

/** A loopback server with the answers a real engine would give only in trouble. Keys are `METHOD /path` without the version. */
export async function fakeEngine(
  replies: Record<string, Reply>,
  apiVersion: string | undefined = '1.41',
  upgrade?: (socket: Socket) => void,
): Promise<FakeEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'hermetic-engine-'));
  const path = join(directory, 'docker.sock');
  const sockets = new Set<Socket>();
  const calls: string[] = [];
  const server = http.createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    const reply = replies[`${request.method} ${request.url?.replace(/^\/v[\d.]+/, '')}`];
    if (reply === undefined && request.url === '/_ping') {
      response.writeHead(200, apiVersion === undefined ? {} : { 'Api-Version': apiVersion }).end('OK');
    } else if (reply === undefined && fake.answer) {
      fake.answer(request, response);
    } else if (reply === undefined) {
      response.writeHead(404).end(JSON.stringify({ message: `No such image or page: ${request.url}` }));
    } else if (typeof reply === 'function') {
      reply(request, response);
    } else {
      response.writeHead(reply.status).end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
    }
  });
  server.on('upgrade', (_request, socket: Socket) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    upgrade?.(socket);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const engine = new Engine({ kind: 'unix', path }, dockerProduct());
  const cut = () => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  const fake: FakeEngine = {
    engine,
    path,
    calls,
    answer: undefined,
    cut,
    async [Symbol.asyncDispose]() {
      engine.close();
      cut();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
  return fake;
}
