import type { Socket as DatagramSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import type { AllowedConnection, BlockedConnection, BlockReason, Destination, EgressRules } from '../core/egress.ts';
import type { CallSlots } from '../lib/call-slots.ts';
import { settlesWithin, within } from '../lib/deadline.ts';
import { AllowedList } from './allowed-list.ts';
import type { AskingParts } from './asking.ts';
import { BlockedList } from './blocked-list.ts';
import { isBound } from './bound-secret.ts';
import { ConnectionOwners } from './connection-owner.ts';
import { proxyPort, restrictedResolver } from './environment.ts';
import type { EntranceWords, LineNotice, Reply } from './messages.ts';
import { DoorError, openSockets, type WantedSocket } from './open-sockets.ts';
import { DoorQuestions } from './question-line.ts';
import { directPorts } from './rules.ts';

/** The connections of one sandbox. */
export interface DoorSession {
  /** A connection to the proxy. */
  acceptAtProxy(socket: Socket): void;
  /** A connection to a direct port; its local address says which name was meant. */
  acceptByName(socket: Socket): void;
  answerQuery(query: Buffer): Buffer | undefined;
  /** Cuts connections that are no longer allowed. */
  rulesChanged(): void;
  /** Resolves when all that has happened is noted. */
  settle(): Promise<void>;
  close(): void;
}

export interface SessionParts {
  rules(): EgressRules;
  onBlocked(destination: Destination, reason: BlockReason, by?: string): void;
  onAllowed(connection: AllowedConnection): void;
  asking: Pick<AskingParts, 'line' | 'owners'>;
}

export interface DoorParts {
  entrance: EntranceWords;
  rules(): EgressRules;
  makeSession(parts: SessionParts): DoorSession;
  /** For the helpers of all doors. */
  slots: CallSlots;
  onStarted(): void;
  onConnections(blocked: readonly BlockedConnection[], allowed: readonly AllowedConnection[]): void;
  onQuestion(notice: LineNotice): void;
  /** A socket broke; the door is closed. */
  onLost(reason: string): void;
}

const namesPort = 53;
const reportMs = 50;
/** Security: a sandbox can make it take long, and the main thread ends a thread that does not answer. */
const settleMs = 500;
/** Further answers to a program that does not read them are dropped. */
const maxWaitingAnswers = 64;
/** The connection stays in the queue of the kernel, or its program has left. */
const passingErrors: readonly (string | undefined)[] = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'ECONNABORTED', 'EAGAIN'];

/** The sockets of one sandbox, in the egress thread. */
export class SandboxDoor {
  readonly #parts: DoorParts;
  readonly #session: DoorSession;
  readonly #abort = new AbortController();
  readonly #sockets: (Server | DatagramSocket)[] = [];
  readonly #blocked = new BlockedList();
  readonly #allowed: AllowedList;
  readonly #questions: DoorQuestions;
  readonly #owners: ConnectionOwners;
  /** As /proc names it. */
  #namespace: string | undefined;
  #reportTimer: NodeJS.Timeout | undefined;
  #helperGone: Promise<unknown> = Promise.resolve();

  constructor(parts: DoorParts) {
    this.#parts = parts;
    this.#allowed = new AllowedList((destination) => isBound(parts.rules(), destination));
    this.#questions = new DoorQuestions(parts.onQuestion);
    this.#owners = new ConnectionOwners(() => this.#namespace);
    this.#session = parts.makeSession({
      rules: parts.rules,
      onBlocked: ({ host, port }, reason, by) => {
        this.#blocked.add({ host, port, reason, count: 1, by });
        this.#reportSoon();
      },
      onAllowed: (connection) => {
        this.#allowed.add(connection);
        this.#reportSoon();
      },
      asking: { line: this.#questions, owners: this.#owners },
    });
  }

  /** Rejects with a DoorError; the door is closed then. */
  async open(): Promise<void> {
    const { entrance, slots, onStarted } = this.#parts;
    const { signal } = this.#abort;
    const opening = slots.run(async () => {
      if (signal.aborted) return;
      const opened = openSockets(entrance, this.#wanted(), onStarted, signal);
      this.#helperGone = opened.then(({ helperGone }) => helperGone).catch(() => undefined);
      await opened;
    });
    try {
      await within({ signal }, opening, async () => {
        await this.#helperGone;
        throw new DoorError({ reason: 'it was given up' });
      });
    } catch (error) {
      this.#cut();
      throw error;
    }
  }

  rulesChanged(): void {
    this.#session.rulesChanged();
  }

  reply(question: number, reply: Reply): void {
    this.#questions.take(question, reply);
  }

  /** As `ConnectionOwners.liveMarks`. */
  async liveMarks(): Promise<ReadonlySet<string> | undefined> {
    return await this.#owners.liveMarks();
  }

  /** Tells what was not told yet. */
  async report(): Promise<void> {
    this.#reportNow();
    await settlesWithin(settleMs, this.#session.settle());
    this.#reportNow();
  }

  #reportNow(): void {
    clearTimeout(this.#reportTimer);
    this.#reportTimer = undefined;
    const [blocked, allowed] = [this.#blocked.take(), this.#allowed.take()];
    if (blocked.length + allowed.length > 0) this.#parts.onConnections(blocked, allowed);
  }

  /** Resolves when nothing is open and no helper runs. */
  async close(): Promise<void> {
    this.#cut();
    await this.#helperGone;
  }

  #cut(): void {
    this.#abort.abort();
    for (const socket of this.#sockets.splice(0)) socket.close();
    this.#questions.close();
    this.#session.close();
    clearTimeout(this.#reportTimer);
  }

  /** The ports of rules that change later are opened for new sandboxes only. */
  #wanted(): WantedSocket[] {
    const direct = directPorts(this.#parts.rules()).map((port) => ({ address: '0.0.0.0', port, onConnection: 'acceptByName' as const }));
    // The first one waits for the loopback interface.
    const all = [{ address: '127.0.0.1', port: proxyPort, onConnection: 'acceptAtProxy' as const }, ...direct];
    return [
      ...all.map(
        ({ address, port, onConnection }): WantedSocket => ({
          protocol: 'tcp',
          address,
          port,
          onOpen: (server, namespace) => {
            this.#namespace = namespace;
            this.#serve(server as Server, (socket) => this.#session[onConnection](socket));
          },
        }),
      ),
      { protocol: 'udp', address: restrictedResolver, port: namesPort, onOpen: (socket) => this.#answer(socket as DatagramSocket) },
    ];
  }

  #serve(server: Server, onConnection: (socket: Socket) => void): void {
    this.#keep(server);
    server.on('connection', onConnection);
  }

  #answer(socket: DatagramSocket): void {
    this.#keep(socket);
    socket.on('message', (query, { address, port }) => {
      // Security: a packet made by hand may come from port 0, to which Node refuses to send by throwing.
      if (port === 0 || socket.getSendQueueCount() >= maxWaitingAnswers) return;
      const answer = this.#session.answerQuery(query);
      if (answer) socket.send(answer, port, address, () => undefined);
    });
  }

  #keep(socket: Server | DatagramSocket): void {
    if (this.#abort.signal.aborted) {
      socket.close();
      return;
    }
    this.#sockets.push(socket);
    (socket as NodeJS.EventEmitter).on('error', (error: NodeJS.ErrnoException) => {
      if (passingErrors.includes(error.code) || this.#abort.signal.aborted) return;
      this.#cut();
      this.#parts.onLost(error.message);
    });
  }

  /** The first one is told at once, so that it counts for the command that caused it; more are told together. */
  #reportSoon(): void {
    if (this.#reportTimer !== undefined) return;
    this.#reportNow();
    this.#reportTimer = setTimeout(() => this.#reportNow(), reportMs);
  }
}
