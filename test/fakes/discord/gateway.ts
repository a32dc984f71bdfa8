import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { bot, botRole, type FakeChannel, guild } from './world.ts';

interface Session {
  id: string;
  events: { t: string; d: unknown; s: number }[];
  socket: WebSocket | undefined;
}

/** The connections of bots, which get what happens, also what happened while they were away when they resume. */
export class FakeGateway {
  /** The one it takes. */
  token: string;
  readonly #root: () => string;
  readonly #channels: () => readonly FakeChannel[];
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, Session>();
  /** What bots sent: the operation and its data. */
  readonly received: { op: number; d: unknown }[] = [];
  heartbeatMs = 40_000;
  /** Sends no answer to heartbeats. */
  isDeaf = false;

  constructor(token: string, root: () => string, channels: () => readonly FakeChannel[]) {
    this.token = token;
    this.#root = root;
    this.#channels = channels;
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client));
  }

  dispatch(t: string, d: unknown): void {
    for (const session of this.#sessions.values()) this.#send(session, t, d);
  }

  /** Ends every connection with this code. */
  closeAll(code: number): void {
    for (const { socket } of this.#sessions.values()) socket?.close(code);
  }

  /** Asks bots to connect anew. */
  askToReconnect(): void {
    for (const { socket } of this.#sessions.values()) socket?.send(JSON.stringify({ op: 7, d: null }));
  }

  /** Sends these bytes as they are. */
  sendRaw(text: string | Uint8Array): void {
    for (const { socket } of this.#sessions.values()) socket?.send(text);
  }

  /** So that none can be resumed. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  get connected(): number {
    return [...this.#sessions.values()].filter(({ socket }) => socket !== undefined).length;
  }

  terminateAll(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  #serve(socket: WebSocket): void {
    let session: Session | undefined;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (session?.socket === socket) session.socket = undefined;
    });
    socket.on('message', (data) => {
      const { op, d } = JSON.parse(String(data)) as { op: number; d: Record<string, unknown> };
      this.received.push({ op, d });
      if (op === 1) {
        if (!this.isDeaf) socket.send(JSON.stringify({ op: 11, d: null }));
      } else if (op === 2) session = this.#identify(socket, d);
      else if (op === 6) session = this.#resume(socket, d);
    });
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: this.heartbeatMs } }));
  }

  #identify(socket: WebSocket, d: Record<string, unknown>): Session | undefined {
    if (d.token !== this.token) {
      socket.close(4004);
      return undefined;
    }
    const session: Session = { id: `session-${this.#sessions.size + 1}-${Math.random()}`, events: [], socket };
    this.#sessions.set(session.id, session);
    const resume_gateway_url = this.#root().replace('http:', 'ws:');
    const application = { id: bot.id, flags: 0 };
    this.#send(session, 'READY', {
      ...{ v: 10, user: bot, session_id: session.id, resume_gateway_url, application },
      guilds: [{ id: guild, unavailable: true }],
    });
    const all = this.#channels().filter(({ guild_id }) => guild_id === guild);
    this.#send(session, 'GUILD_CREATE', {
      id: guild,
      roles: [{ id: botRole, name: 'Hermetic', tags: { bot_id: bot.id } }],
      channels: all.filter(({ parent_id }) => parent_id === undefined),
      threads: all.filter(({ parent_id }) => parent_id !== undefined),
    });
    return session;
  }

  #resume(socket: WebSocket, d: Record<string, unknown>): Session | undefined {
    const session = this.#sessions.get(String(d.session_id));
    if (d.token !== this.token) {
      socket.close(4004);
      return undefined;
    }
    if (!session) {
      socket.send(JSON.stringify({ op: 9, d: false }));
      return undefined;
    }
    session.socket = socket;
    for (const event of session.events) if (event.s > Number(d.seq)) socket.send(JSON.stringify({ op: 0, ...event }));
    this.#send(session, 'RESUMED', {});
    return session;
  }

  #send(session: Session, t: string, d: unknown): void {
    const event = { t, d, s: session.events.length + 1 };
    session.events.push(event);
    session.socket?.send(JSON.stringify({ op: 0, ...event }));
  }
}
