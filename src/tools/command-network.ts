import { blockedSentence } from '../core/blocked-connections.ts';
import { type BlockedConnection, type ConnectionAnswer, type ConnectionAsker, type Connections, destinationText } from '../core/egress.ts';
import type { ToolContext } from '../core/tool.ts';
import { settlesWithin } from '../lib/deadline.ts';
import { PausableTimer } from '../lib/pausable-timer.ts';

/** What it needs of the call that runs the command. */
export type ConnectingTool = Pick<ToolContext, 'askToConnect' | 'connected' | 'signal'>;

/** The restricted network of one command: its clock stands still while a person decides about a host, and its result says what was decided. */
export class CommandNetwork {
  /** For `run`. */
  readonly clock = new PausableTimer();
  /** For the request of the command. */
  readonly ask: ConnectionAsker | undefined;
  readonly #context: ConnectingTool;
  /** Where people said yes. */
  readonly #answers = new Map<string, ConnectionAnswer>();
  readonly #open = new Set<Promise<unknown>>();

  constructor(context: ConnectingTool) {
    this.#context = context;
    const { askToConnect } = context;
    this.ask = askToConnect && ((request, options) => this.#asking(askToConnect, request, options));
  }

  /**
   * What the result says of the network; undefined when every connection was allowed by a rule and succeeded. Where `hasFailed`, waits for the
   * answers to questions that the command itself did not wait for, so that the result says whether to try again.
   */
  async sentence(connections: () => Promise<Connections>, hasFailed: boolean): Promise<string | undefined> {
    if (hasFailed && this.#open.size > 0) await settlesWithin({ signal: this.#context.signal }, this.settled());
    const found = await connections();
    this.#context.connected(found);
    return networkSentence(found, this.#answers);
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
      if (!options.left.aborted) resume ??= this.clock.pause();
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
}

/** Also says what people allowed, and what they allowed too late for the program that wanted it. */
function networkSentence({ blocked }: Connections, answers: ReadonlyMap<string, ConnectionAnswer>): string | undefined {
  const unheeded = new Set(blocked.filter(({ reason }) => reason === 'not-awaited').map(destinationText));
  const allowed = [...answers].map(([destination, answer]) => {
    if (unheeded.delete(destination) || !answer.allowed)
      return `allowed ${destination} after the program had stopped waiting; run it again`;
    return `allowed ${destination} ${answer.until === 'command-ends' ? 'for this command' : 'from now on'}`;
  });
  const isUnsettled = (one: BlockedConnection): boolean => one.reason !== 'not-awaited' || unheeded.has(destinationText(one));
  return blockedSentence(blocked.filter(isUnsettled), allowed);
}
