import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { freePort } from '../free-port.ts';

/** How a fake of a platform listens on this machine: it goes down, and comes up again at the same address. */
export class LoopbackServer<Kind extends Server = Server> {
  readonly server: Kind;
  readonly #socketPath: string | undefined;
  readonly #connections = new Set<Socket>();
  #port = 0;

  /** On a free port, or on a socket at this path. */
  constructor(server: Kind, socketPath?: string) {
    this.server = server;
    this.#socketPath = socketPath;
    server.on('connection', (socket: Socket) => {
      this.#connections.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Ends every connection, and takes new ones. */
  cutAll(): void {
    for (const socket of this.#connections) socket.destroy();
  }

  /** Refuses connections and ends those there are. */
  async goDown(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cutAll();
    await closed;
  }

  /** Listens, at the same address as before. */
  async comeUp(): Promise<void> {
    if (this.#socketPath === undefined && this.#port === 0) this.#port = await freePort();
    const at = this.#socketPath === undefined ? { port: this.#port, host: '127.0.0.1' } : { path: this.#socketPath };
    this.server.listen(at);
    await once(this.server, 'listening');
  }

  get isUp(): boolean {
    return this.server.listening;
  }
}

/** A request that `serve` fails at is cut. */
export function loopbackHttp(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  return new LoopbackServer(
    createServer((request, response) => {
      serve(request, response).catch(() => response.destroy());
    }),
  );
}
