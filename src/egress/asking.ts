import { isIP } from 'node:net';
import type { ConnectionAnswer, Destination } from '../core/egress.ts';
import { Lane } from '../lib/lanes.ts';
import { Rate } from '../lib/rate.ts';
import type { Connection } from './connection.ts';
import type { ConnectionOwners } from './connection-owner.ts';
import { isPublicName } from './names.ts';
import { type Pass, Passes, passKey } from './passes.ts';
import { type QuestionLine, unlistedAnswer } from './question-line.ts';

export interface AskingParts {
  line: QuestionLine;
  owners: Pick<ConnectionOwners, 'ownerOf' | 'abandoned'>;
  /** All connections of the sandbox. */
  connections(): readonly Connection[];
  /** Whether no rule allows or denies it. */
  isUnlisted(destination: Destination): boolean;
  /** A client did not wait for the answer. */
  onNotAwaited(destination: Destination): void;
  /** A connection is cut because its pass was taken back. */
  onRevoked(destination: Destination, answer: Extract<ConnectionAnswer, { allowed: false }>): void;
}

/** One question for all connections of a command to a destination. */
interface OpenQuestion {
  destination: Destination;
  /** With undefined when the rules have decided. */
  waiting: Set<(answer: ConnectionAnswer | undefined) => void>;
  /** Aborted when no client waits any more. undefined: the question is not asked now, or its clients have left. */
  left: AbortController | undefined;
  /** How often it was asked and is not answered yet: again when a client comes after all others have left. */
  unanswered: number;
}

/** Security: of one sandbox, so that it cannot fill the memory or tire people out. */
const maxQuestions = 64;
const maxUnanswered = 4;
/** Also when each is answered at once, as for a command with no one to ask. */
const maxPerMinute = 6_000;
/** A client that leaves is not always noticed: not when it has ended its half before, or has sent more than was read. */
const lookMs = 1_000;

/** Whether people may be asked about a host that no rule names: not about names of this machine or its network, to which no answer can lead. */
export function isAskable(host: string): boolean {
  return isIP(host) !== 0 || isPublicName(host);
}

/** Holds connections of one sandbox that no rule allows, while people are asked about them. */
export class Asking {
  readonly #parts: AskingParts;
  readonly #questions = new Map<string, OpenQuestion>();
  readonly #held = new Set<Connection>();
  readonly #passes: Passes;
  readonly #rate = new Rate(maxPerMinute);
  readonly #looks = new Lane();
  #nextLook: Promise<void> | undefined;
  #onlyCommand: Promise<string | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: AskingParts) {
    this.#parts = parts;
    this.#passes = new Passes({
      line: parts.line,
      isUsed: (pass) => this.#resting(pass).length > 0,
      onRevoked: (pass, answer) => {
        for (const connection of this.#resting(pass)) {
          parts.onRevoked(pass.destination, answer);
          connection.cut();
        }
      },
    });
  }

  /** Resolves with undefined when the rules decide, or the client has left. Never rejects. */
  async decide(connection: Connection, destination: Destination): Promise<ConnectionAnswer | undefined> {
    this.#hold(connection);
    try {
      connection.owner ??= await this.#parts.owners.ownerOf(connection.socket);
      if (connection.gone.aborted) return undefined;
      const mark = connection.owner?.mark ?? (await this.#findOnlyCommand());
      connection.mark = mark;
      if (mark === undefined) return unlistedAnswer;
      const pass = { mark, destination };
      if (await this.#passes.allows(pass)) return { allowed: true, until: 'command-ends' };
      // Also when the rules have changed while its owner was looked for.
      const isDecided = connection.gone.aborted || this.#isClosed || !this.#parts.isUnlisted(destination);
      return isDecided ? undefined : await this.#wait(connection, pass);
    } finally {
      this.#release(connection);
    }
  }

  /** Whether an answer allows it, as far as it was checked last. */
  isPermitted({ mark }: Connection, destination: Destination): boolean {
    return mark !== undefined && this.#passes.has({ mark, destination });
  }

  /** Connections that the rules have decided by now wait no longer. */
  rulesChanged(): void {
    for (const question of this.#questions.values()) {
      if (!this.#parts.isUnlisted(question.destination)) settle(question, undefined);
    }
  }

  /** Cuts connections whose clients have left. */
  async look(): Promise<void> {
    this.#nextLook ??= this.#looks.run(async () => {
      this.#nextLook = undefined;
      await this.#lookNow();
    });
    await this.#nextLook;
  }

  async #lookNow(): Promise<void> {
    const held = new Map([...this.#held].map((connection) => [connection.socket, connection]));
    if (held.size === 0) return;
    for (const socket of await this.#parts.owners.abandoned([...held.keys()])) {
      const connection = held.get(socket);
      if (connection?.isHeld) connection.cut();
    }
  }

  /** Before the connections are cut. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#passes.close();
    for (const question of this.#questions.values()) settle(question, unlistedAnswer);
    this.#questions.clear();
  }

  async #wait(connection: Connection, pass: Pass): Promise<ConnectionAnswer | undefined> {
    const key = passKey(pass);
    const { destination } = pass;
    const question = this.#questions.get(key) ?? { destination, waiting: new Set(), left: undefined, unanswered: 0 };
    if (!this.#questions.has(key)) {
      if (this.#questions.size >= maxQuestions || this.#rate.take('') > 0) return { allowed: false, reason: 'too-many-questions' };
      this.#questions.set(key, question);
    }
    const { promise, resolve } = Promise.withResolvers<ConnectionAnswer | undefined>();
    question.waiting.add(resolve);
    const leave = (): void => {
      if (!question.waiting.delete(resolve)) return;
      this.#parts.onNotAwaited(destination);
      resolve(undefined);
    };
    connection.gone.addEventListener('abort', leave, { once: true });
    if (!question.left && question.unanswered < maxUnanswered) void this.#ask(question, pass, connection.owner?.program);
    const answer = await promise;
    connection.gone.removeEventListener('abort', leave);
    if (question.waiting.size === 0) question.left?.abort();
    if (question.left?.signal.aborted) question.left = undefined;
    return answer;
  }

  async #ask(question: OpenQuestion, pass: Pass, program: string | undefined): Promise<void> {
    const left = new AbortController();
    question.left = left;
    question.unanswered += 1;
    const { mark, destination } = pass;
    const answer = await this.#parts.line.decide(mark, { ...destination, program }, { isCheck: false, left: left.signal });
    question.unanswered -= 1;
    if (this.#isClosed) return;
    // Also when no client waits any more: it counts for the next one.
    if (answer.allowed) this.#passes.grant(pass, answer.until);
    if (question.left === left) question.left = undefined;
    // A no to clients that have left is no answer to those that were asked about again.
    if (answer.allowed || !question.left) settle(question, answer);
    if (question.unanswered === 0 && question.waiting.size === 0) this.#questions.delete(passKey(pass));
  }

  /** One question for all that come meanwhile. */
  async #findOnlyCommand(): Promise<string | undefined> {
    this.#onlyCommand ??= this.#parts.line.onlyCommand().finally(() => {
      this.#onlyCommand = undefined;
    });
    return await this.#onlyCommand;
  }

  #resting({ mark, destination: { host, port } }: Pass): Connection[] {
    return this.#parts.connections().filter((connection) => {
      const to = connection.destination;
      return !connection.isHeld && connection.mark === mark && to?.host === host && to.port === port && this.#parts.isUnlisted(to);
    });
  }

  #hold(connection: Connection): void {
    connection.hold(true);
    this.#held.add(connection);
    this.#lookLater();
  }

  #release(connection: Connection): void {
    connection.hold(false);
    this.#held.delete(connection);
  }

  #lookLater(): void {
    if (this.#isClosed || this.#held.size === 0) return;
    this.#timer ??= setTimeout(async () => {
      await this.look();
      this.#timer = undefined;
      this.#lookLater();
    }, lookMs);
  }
}

function settle({ waiting }: OpenQuestion, answer: ConnectionAnswer | undefined): void {
  for (const resolve of waiting) resolve(answer);
  waiting.clear();
}
