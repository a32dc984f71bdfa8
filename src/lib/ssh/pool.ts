import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffMs } from '../backoff.ts';
import { Lane } from '../lanes.ts';
import { type SshCommand, SshConnection, type SshOptions, type SshSocket } from './connection.ts';
import { SshError } from './ssh-error.ts';

/** Between attempts to reach a host that was there before. */
const passing: Backoff = { firstMs: 200, maxMs: 5_000, isSpread: true };
/** Security: a host that refuses us is not asked again and again, which could lock the account. */
const lasting: Backoff = { firstMs: 2_000, maxMs: 30_000 };
/** So long a caller waits for a host that was there before to be there again. */
const reconnectDeadlineMs = 15_000;
/** An additional connection that carries nothing is kept for so long. */
const idleMs = 30_000;
const maxConnections = 64;

interface Member {
  connection: SshConnection;
  /** As many commands as the server has allowed on it; more are not asked for. */
  room: number;
  /** Whether it ever carried a command. */
  isUsed: boolean;
  idle: NodeJS.Timeout | undefined;
}

/**
 * Connections to one host, shared by everything that holds the pool: one as long as the server starts all commands on it, and more when it does not.
 * A connection that was lost is made again when it is needed. A command is never started twice.
 */
export class SshPool {
  readonly #options: () => Promise<SshOptions>;
  readonly #members = new Set<Member>();
  readonly #connecting = new Lane();
  readonly #holders = new Set<symbol>();
  #failures = 0;
  #wasReached = false;
  /** Why the last attempt failed, and when the next one may be made. */
  #trouble: { error: SshError; until: number } | undefined;

  /** A function is asked anew for each connection. */
  constructor(options: SshOptions | (() => Promise<SshOptions>)) {
    this.#options = typeof options === 'function' ? options : async () => options;
  }

  /** How many connections there are now. */
  get connections(): number {
    return this.#members.size;
  }

  /** Keeps the connections until it is released. When none holds the pool, its connections are closed. */
  hold(): () => void {
    const holder = Symbol('holder');
    this.#holders.add(holder);
    return () => {
      this.#holders.delete(holder);
      if (this.#holders.size > 0) return;
      this.#wasReached = false;
      this.#failures = 0;
      this.#trouble = undefined;
      for (const { connection } of this.#members) connection.close();
    };
  }

  /** Starts a command in the login shell of the user. */
  exec(command: string): Promise<SshCommand> {
    return this.#withRoom((connection) => connection.exec(command));
  }

  /** Connects to a socket of the remote machine, by its path there. */
  async openSocket(path: string): Promise<SshSocket> {
    const { connection } = await this.#usable();
    return await connection.openSocket(path);
  }

  async #withRoom(start: (connection: SshConnection) => Promise<SshCommand>): Promise<SshCommand> {
    for (;;) {
      const member = await this.#usable();
      const before = member.connection.channels;
      clearTimeout(member.idle);
      try {
        const command = await start(member.connection);
        member.isUsed = true;
        void command.closed.then(() => this.#startIdle(member));
        return command;
      } catch (error) {
        // Security: only then nothing has been started.
        if (!(error instanceof SshError) || error.kind !== 'full') throw error;
        if (before > 0) member.room = Math.min(member.room, before);
        else if (member.isUsed) member.connection.close();
        else throw error;
      }
    }
  }

  /** A connection that is expected to have room; a new one when there is none. */
  async #usable(): Promise<Member> {
    return this.#free() ?? (await this.#connecting.run(async () => this.#free() ?? (await this.#connect())));
  }

  #free(): Member | undefined {
    return [...this.#members].find(({ connection, room }) => connection.isOpen && connection.channels < room);
  }

  async #connect(): Promise<Member> {
    if (this.#members.size >= maxConnections) {
      const happened = `There are ${maxConnections} connections to the host already, and no room on any.`;
      throw new SshError('full', happened, 'Allow more sessions on a connection (MaxSessions of its sshd).');
    }
    const deadline = Date.now() + reconnectDeadlineMs;
    for (;;) {
      await this.#untilAllowed(deadline);
      try {
        return this.#add(await SshConnection.open(await this.#options()));
      } catch (error) {
        if (!(error instanceof SshError)) throw error;
        this.#failures += 1;
        this.#trouble = { error, until: Date.now() + backoffMs(this.#failures, error.isPassing ? passing : lasting) };
        if (!this.#canWait(error, deadline)) throw error;
      }
    }
  }

  /** Rejects with the reason of the last failure when it is not worth the wait. */
  async #untilAllowed(deadline: number): Promise<void> {
    if (!this.#trouble || this.#trouble.until <= Date.now()) return;
    const { error, until } = this.#trouble;
    if (!this.#canWait(error, deadline)) throw error;
    await sleep(until - Date.now(), undefined, { ref: false });
  }

  #canWait({ isPassing }: SshError, deadline: number): boolean {
    return this.#wasReached && isPassing && this.#holders.size > 0 && (this.#trouble?.until ?? 0) < deadline;
  }

  #add(connection: SshConnection): Member {
    const member: Member = { connection, room: Number.POSITIVE_INFINITY, isUsed: false, idle: undefined };
    this.#members.add(member);
    this.#wasReached = true;
    this.#failures = 0;
    this.#trouble = undefined;
    void connection.over.then(() => {
      clearTimeout(member.idle);
      this.#members.delete(member);
    });
    if (this.#holders.size === 0) connection.close();
    return member;
  }

  #startIdle(member: Member): void {
    if (member.connection.channels > 0) return;
    member.room = Number.POSITIVE_INFINITY;
    clearTimeout(member.idle);
    member.idle = setTimeout(() => {
      if (member.connection.channels === 0 && this.#members.size > 1) member.connection.close();
    }, idleMs).unref();
  }
}
