import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

interface Connection {
  socket: WebSocket;
  /** Slack gives it nothing any more. */
  isLeft: boolean;
}

/** The connections of apps. What happens is delivered to one of them; what happens while there is none is lost, as it is after Slack's three tries. */
export class SocketMode {
  readonly #root: () => string;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #connections = new Set<Connection>();
  readonly #tickets = new Set<string>();
  /** Envelopes and what they were answered with. */
  readonly answers = new Map<string, unknown>();
  /** Every envelope that was delivered. */
  readonly delivered: { id: string; type: string; payload: Record<string, unknown> }[] = [];
  /** How many connections there ever were, and how many there were at most at once. */
  opened = 0;
  most = 0;
  /** Says nothing to new connections. */
  isSilent = false;
  #count = 0;

  constructor(root: () => string) {
    this.#root = root;
  }

  newAddress(): string {
    this.#count += 1;
    const ticket = `ticket-secret-${this.#count}`;
    this.#tickets.add(ticket);
    const { host } = new URL(this.#root());
    return `ws://${host}/link/?ticket=${ticket}&app_id=A1`;
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? '/', this.#root()).searchParams.get('ticket') ?? '';
    // Each is good once.
    if (!this.#tickets.delete(ticket)) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client));
  }

  /** The id of the envelope; undefined when nobody is there. */
  deliver(type: string, payload: Record<string, unknown>, mayAnswer = false): string | undefined {
    const connection = [...this.#connections].findLast(({ isLeft, socket }) => !isLeft && socket.readyState === socket.OPEN);
    if (!connection) return undefined;
    this.#count += 1;
    const id = `envelope-${this.#count}`;
    this.delivered.push({ id, type, payload });
    connection.socket.send(JSON.stringify({ envelope_id: id, type, payload, accepts_response_payload: mayAnswer }));
    return id;
  }

  /** Tells every app that its connection ends. */
  disconnect(reason: string): void {
    for (const { socket } of this.#connections) socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'x' } }));
  }

  /** Sends these bytes as they are. */
  sendRaw(data: string | Uint8Array): void {
    for (const { socket } of this.#connections) socket.send(data);
  }

  get connected(): number {
    return this.#connections.size;
  }

  /** The connections are there, but nothing goes through them. */
  freeze(): void {
    for (const { socket } of this.#connections) socket.pause();
  }

  terminateAll(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  #serve(socket: WebSocket): void {
    const connection: Connection = { socket, isLeft: false };
    this.#connections.add(connection);
    this.opened += 1;
    this.most = Math.max(this.most, this.#connections.size);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#connections.delete(connection));
    socket.on('message', (data) => {
      const { envelope_id: id, payload } = JSON.parse(String(data)) as { envelope_id: string; payload?: unknown };
      this.answers.set(id, payload);
    });
    if (this.isSilent) return;
    socket.send(JSON.stringify({ type: 'hello', num_connections: this.#connections.size, connection_info: { app_id: 'A1' } }));
  }
}
