import { blockedSentence } from '../core/blocked-connections.ts';
import {
  type BlockedConnection,
  type BlockReason,
  type ConnectionAnswer,
  type ConnectionAsker,
  type Connections,
  destinationText,
} from '../core/egress.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { PausableTimer } from '../lib/pausable-timer.ts';
import type { RunningCall } from './running-call.ts';

/** What it needs of the call that runs the command. */
export interface ConnectingTool {
  /** Decides about connections that no rule allows; undefined where people cannot be asked about them. */
  askToConnect: ConnectionAsker | undefined;
  /** For the log. */
  connected(connections: Connections): void;
  signal: AbortSignal;
  /** Told that it waits for an answer. */
  call?: Pick<RunningCall, 'waiting'>;
}

/** The restricted network of one command: its clock stands still while a person decides about a host, and its result says what was decided. */
export class CommandNetwork {
  /** For `run`. */
  readonly clock = new PausableTimer();
  /** Its connections are in the log. */
  isNoted = false;
  /** For the request of the command. */
  readonly ask: ConnectionAsker | undefined;
  readonly #call: ConnectingTool;
  /** Where people said yes. */
  readonly #answers = new Map<string, ConnectionAnswer>();
  readonly #open = new Set<Promise<unknown>>();
  /** All that `ask` keeps in memory beside the question. */
  readonly #asker: { network: CommandNetwork | undefined } = { network: this };

  constructor(call: ConnectingTool) {
    this.#call = call;
    this.ask = call.askToConnect && CommandNetwork.#askerOf(call.askToConnect, this.#asker);
  }

  /** Apart from the constructor, so that it keeps nothing else in memory. */
  static #askerOf(ask: ConnectionAsker, asker: { network: CommandNetwork | undefined }): ConnectionAsker {
    return (request, options) => (asker.network ? asker.network.#asking(ask, request, options) : ask(request, options));
  }

  /** The call is over: what its command left running may still ask, and must not keep the call in memory. */
  letGo(): void {
    this.#asker.network = undefined;
  }

  /**
   * What the result says of the network; undefined when every connection was allowed by a rule and succeeded. Where `hasFailed`, waits for the
   * answers to questions that the command itself did not wait for, so that the result says whether to try again.
   */
  async sentence(connections: () => Promise<Connections>, hasFailed: boolean): Promise<string | undefined> {
    if (hasFailed && this.#open.size > 0) await settlesWithin({ signal: this.#call.signal }, this.settled());
    const found = await connections();
    this.note(found);
    return networkSentence(found, this.#answers);
  }

  /** Writes all connections since the command began into the log, once. */
  note(found: Connections): void {
    if (!this.isNoted) this.#call.connected(found);
    this.isNoted = true;
  }

  /** Resolves when all its questions have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #asking(ask: ConnectionAsker, ...[request, options]: Parameters<ConnectionAsker>): Promise<ConnectionAnswer> {
    if (options.isCheck) return await ask(request, options);
    let resume: (() => void) | undefined;
    // Security: only a person stops the clock, and not a command that asks again and again.
    const onWaiting = (): void => {
      if (!options.left.aborted) resume ??= this.#stopClock();
    };
    options.left.addEventListener('abort', () => resume?.(), { once: true });
    const asked = ask(request, { ...options, onWaiting });
    this.#open.add(asked);
    try {
      const answer = await asked;
      if (answer.allowed ? answer.isAnswer : answer.reason === 'not-awaited') this.#answers.set(destinationText(request), answer);
      return answer;
    } finally {
      this.#open.delete(asked);
      resume?.();
    }
  }

  /** Until the function it returns is called. */
  #stopClock(): () => void {
    const [resume, answered] = [this.clock.pause(), this.#call.call?.waiting('connection')];
    return () => {
      resume();
      answered?.();
    };
  }
}

/** An attempt that was blocked so may succeed after a yes. */
const blockedUntilYes: ReadonlySet<BlockReason> = new Set(['unlisted', 'refused', 'unanswered', 'too-many-questions']);

/**
 * Also says what people allowed, and what they allowed too late for the program that wanted it. A destination is either
 * blocked or allowed: what was decided last counts.
 */
function networkSentence({ blocked }: Connections, answers: ReadonlyMap<string, ConnectionAnswer>): string | undefined {
  const named = (isMeant: (reason: BlockReason) => boolean): Set<string> =>
    new Set(blocked.filter(({ reason }) => isMeant(reason)).map(destinationText));
  const unheeded = named((reason) => reason === 'not-awaited');
  const before = named((reason) => blockedUntilYes.has(reason));
  const settled = new Set<string>();
  const allowed = [...answers].map(([destination, answer]) => {
    settled.add(destination);
    if (unheeded.has(destination) || !answer.allowed) return `allowed ${destination} after the program had stopped waiting; run it again`;
    const how = answer.until === 'command-ends' ? 'for this command' : 'from now on';
    return `allowed ${destination} ${how}${before.has(destination) ? ', after an attempt that was blocked; run it again' : ''}`;
  });
  const isOver = (one: BlockedConnection): boolean =>
    settled.has(destinationText(one)) && (one.reason === 'not-awaited' || blockedUntilYes.has(one.reason));
  return blockedSentence(
    blocked.filter((one) => !isOver(one)),
    allowed,
  );
}
