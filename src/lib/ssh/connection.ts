import { Duplex } from 'node:stream';
import type { Channel, Client, ClientChannel } from 'ssh2';
import { within } from '../deadline.ts';
import { errorText } from '../error-text.ts';
import { printable } from '../printable.ts';
import { type ChannelStreams, channelStreams } from './channel-streams.ts';
import { type Hop, openHops, silent, tokenRefused } from './hops.ts';
import type { HostKeyRules } from './host-keys.ts';
import { SshError } from './ssh-error.ts';
import { type SshTarget, targetText } from './target.ts';

export interface SshOptions {
  target: SshTarget;
  /** Hosts on the way, the nearest first. Their keys are verified as that of the target is, and they are told the same keys of ours. */
  jumps: readonly SshTarget[];
  hostKeys: HostKeyRules;
  /** Path of a private key, which is tried before those of the agent. */
  keyPath?: string | undefined;
  passphrase?: string | undefined;
  /** Path of the socket of an agent. */
  agentSocket?: string | undefined;
  /** For all hops together, until they have let us in. */
  timeoutMs?: number | undefined;
  /** After so long without an answer the other end is asked for one; after three such times it is given up. */
  keepAliveMs?: number | undefined;
}

/** A command on the remote machine. Without a terminal: its streams carry any bytes. */
export interface SshCommand extends Pick<ChannelStreams, 'stdin' | 'stdout' | 'stderr' | 'closed'> {
  /** undefined when a signal ended it, or it is unknown. */
  exitCode(): Promise<number | undefined>;
  /** Whether it keeps the program running. */
  ref(): void;
  unref(): void;
  /** Ends its input and drops its output. The command decides when it ends. */
  destroy(): void;
}

/** A connection to a socket of the remote machine. */
export interface SshSocket extends Duplex {
  ref(): this;
  unref(): this;
}

const defaultTimeoutMs = 15_000;
const defaultKeepAliveMs = 15_000;
const maxUnanswered = 3;
const openDeadlineMs = 20_000;
const answerDeadlineMs = 15_000;
/** Codes of RFC 4254, 5.1. OpenSSH answers with the first when it has as many sessions as it may (`MaxSessions`). */
const fullReasons: readonly unknown[] = [2, 4];

/** One connection to a host, over which many commands run at once. */
export class SshConnection {
  /** Resolves with the reason when it is over. */
  readonly over: Promise<SshError>;
  readonly #over = Promise.withResolvers<SshError>();
  readonly #target: SshTarget;
  readonly #hops: readonly Hop[];
  readonly #client: Client;
  readonly #channels = new Set<ChannelStreams>();
  readonly #holders = new Set<object>();
  #end: SshError | undefined;
  #unanswered = 0;
  #opening = 0;

  /** Resolves when the target has let us in. */
  static async open(options: SshOptions): Promise<SshConnection> {
    const abandoned = new AbortController();
    const opening = openHops(options, abandoned.signal);
    const hops = await within(options.timeoutMs ?? defaultTimeoutMs, opening, () => {
      abandoned.abort();
      return opening;
    });
    const connection = new SshConnection(options, hops);
    if (options.target.isToken) await connection.#untilAccepted();
    return connection;
  }

  /** A gateway that lets everyone in hangs up, instead of answering, when it does not know the token. */
  async #untilAccepted(): Promise<void> {
    const first = Promise.withResolvers<'accepted' | SshError>();
    // It is called when the connection is over, too.
    this.#ask(() => this.isOpen && first.resolve('accepted'));
    void this.over.then(first.resolve);
    const outcome = await within(answerDeadlineMs, first.promise, () => undefined);
    if (outcome === 'accepted') return;
    this.close();
    throw outcome ? tokenRefused(this.#target) : silent(this.#target, 'does not say whether it accepts the token');
  }

  private constructor({ target, keepAliveMs = defaultKeepAliveMs }: SshOptions, hops: readonly Hop[]) {
    this.#target = target;
    this.#hops = hops;
    this.#client = (hops.at(-1) as Hop).client;
    this.over = this.#over.promise;
    const timer = setInterval(() => this.#keepAlive(), keepAliveMs).unref();
    void this.over.then(() => clearInterval(timer));
    for (const { client, target: hop } of hops) {
      client.on('error', (error) => this.#fail(`The connection to ${targetText(hop)} broke: ${printable(errorText(error))}.`));
      client.on('close', () => this.#fail(`The connection to ${targetText(hop)} was cut.`));
    }
    this.#updateRef();
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** Commands and sockets that are open now, or about to be. */
  get channels(): number {
    return this.#channels.size + this.#opening;
  }

  /**
   * Starts a command in the login shell of the user. Rejects with `full` when nothing was started because this connection carries as many commands
   * as the server allows.
   */
  exec(command: string): Promise<SshCommand> {
    return this.#open<ClientChannel, SshCommand>(
      'a command',
      (done) => this.#client.exec(command, done),
      (channel) => this.#command(channel),
    );
  }

  #command(channel: ClientChannel): SshCommand {
    const exit = Promise.withResolvers<number | undefined>();
    channel.once('exit', (code: number | null) => exit.resolve(code ?? undefined));
    const { streams, holder } = this.#adopt(channel);
    void streams.closed.then(() => exit.resolve(undefined));
    return {
      ...streams,
      exitCode: () => exit.promise,
      ref: () => this.#hold(holder),
      unref: () => this.#letGo(holder),
      destroy: () => {
        this.#letGo(holder);
        streams.detach();
      },
    };
  }

  /** Connects to a socket of the remote machine, by its path there. */
  openSocket(path: string): Promise<SshSocket> {
    return this.#open<Channel, SshSocket>(
      `the socket ${path}`,
      (done) => this.#client.openssh_forwardOutStreamLocal(path, done),
      (channel) => this.#socket(channel),
    );
  }

  #socket(channel: Channel): SshSocket {
    const { streams, holder } = this.#adopt(channel);
    const socket = Duplex.from({ readable: streams.stdout, writable: streams.stdin }) as SshSocket;
    socket.ref = () => {
      this.#hold(holder);
      return socket;
    };
    socket.unref = () => {
      this.#letGo(holder);
      return socket;
    };
    socket.once('close', () => {
      this.#letGo(holder);
      channel.close();
    });
    return socket;
  }

  close(): void {
    this.#finish(new SshError('lost', `The connection to ${targetText(this.#target)} was closed.`, ''));
  }

  /** `adopt` is called as soon as the channel is there: all that comes over it may be behind the answer in the same packet. */
  async #open<Opened extends Channel, Adopted>(
    what: string,
    start: (done: (error: Error | undefined, channel: Opened) => void) => void,
    adopt: (channel: Opened) => Adopted,
  ): Promise<Adopted> {
    if (this.#end) throw this.#end;
    const opening = Promise.withResolvers<Adopted>();
    const wait = {};
    let isLate = false;
    this.#hold(wait);
    this.#opening += 1;
    try {
      start((error, channel) => {
        if (error) opening.reject(error);
        else if (isLate) channel.close();
        else opening.resolve(adopt(channel));
      });
      return await within(openDeadlineMs, opening.promise, () => {
        isLate = true;
        throw new SshError(
          'silent',
          `${targetText(this.#target)} did not start ${what} in ${openDeadlineMs / 1000} s.`,
          'Look at its load.',
        );
      });
    } catch (error) {
      if (error instanceof SshError) throw error;
      if (this.#end) throw this.#end;
      throw refused(this.#target, what, error);
    } finally {
      this.#opening -= 1;
      this.#letGo(wait);
    }
  }

  #adopt(channel: Channel | ClientChannel): { streams: ChannelStreams; holder: object } {
    const streams = channelStreams(channel, () => this.#fail(`${targetText(this.#target)} sends more than it may.`));
    const holder = {};
    this.#channels.add(streams);
    this.#hold(holder);
    void streams.closed.then(() => {
      this.#channels.delete(streams);
      this.#letGo(holder);
    });
    if (this.#end) streams.fail(this.#end);
    return { streams, holder };
  }

  #hold(holder: object): void {
    this.#holders.add(holder);
    this.#updateRef();
  }

  #letGo(holder: object): void {
    this.#holders.delete(holder);
    this.#updateRef();
  }

  #updateRef(): void {
    const socket = this.#hops[0]?.socket;
    if (this.#holders.size > 0) socket?.ref();
    else socket?.unref();
  }

  #keepAlive(): void {
    if (this.#unanswered >= maxUnanswered) {
      this.#fail(`${targetText(this.#target)} does not answer any more.`);
      return;
    }
    this.#unanswered += 1;
    this.#ask(() => {
      this.#unanswered = 0;
    });
  }

  /** Any answer counts, and a server has to answer this request, which asks it to stop what it never did. */
  #ask(answered: () => void): void {
    try {
      this.#client.unforwardIn('', 0, answered);
    } catch (error) {
      this.#fail(`The connection to ${targetText(this.#target)} broke: ${errorText(error)}.`);
    }
  }

  #fail(happened: string): void {
    this.#finish(new SshError('lost', happened, 'It is connected again when it is needed.'));
  }

  #finish(error: SshError): void {
    if (this.#end) return;
    this.#end = error;
    for (const streams of this.#channels) streams.fail(error);
    this.#channels.clear();
    this.#holders.clear();
    for (const hop of this.#hops) hop.close();
    this.#over.resolve(error);
  }
}

function refused(target: SshTarget, what: string, error: unknown): SshError {
  const { reason } = error as { reason?: unknown };
  const why = printable(errorText(error)).slice(0, 300);
  const kind = fullReasons.includes(reason) ? 'full' : 'refused';
  return new SshError(
    kind,
    `${targetText(target)} refused to open ${what}: ${why}.`,
    'Look at the configuration and the log of its sshd.',
    error,
  );
}
