import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sessionId } from '../src/core/session.ts';
import { openStore } from '../src/stores/index.ts';
import { type ModelRequest, type Reply, says } from '../test/fakes/model-server.ts';
import { Program } from '../test/gateway/program.ts';
import { until } from '../test/until.ts';
import { type CpuTimes, cpuTimes, cpuTimesBetween, proportionalBytes } from './soak/process-facts.ts';

/** Chats whose conversations are there before the gateway starts. */
export const shortConversation = 20;
export const longConversation = 2000;

/** Times at which one message passed each step, in milliseconds. */
export interface Exchange {
  saidAt: number;
  /** The provider has the whole request. */
  askedAt: number;
  /** The provider has sent the last byte of its last answer. */
  answeredAt: number;
  /** The platform is asked to show it. */
  sentAt: number;
}

export type Kind = 'plain' | 'tool';

/** What a gateway did while each of its chats had a message under way. */
export interface Saturated {
  messages: number;
  seconds: number;
  cpu: CpuTimes;
}

export interface Statements {
  total: number;
  byText: [text: string, count: number][];
  inOrder: string[];
}

export interface LoadOptions {
  network?: 'none' | 'restricted';
  /** Counts the SQL statements. */
  countsStatements?: boolean;
}

const deadlineMs = 180_000;
/** Where the gateway writes down its statements. */
const statementsFile = join(tmpdir(), `hermetic-statements-${process.pid}.json`);
const statementsProbe = fileURLToPath(new URL('./statements-probe.mjs', import.meta.url));
/** The fakes keep what they were asked; it is thrown away after so many messages. */
const forgetEvery = 500;

/** `hermetic start`, and people who write to it. */
export class GatewayUnderLoad {
  readonly readyMs: number;
  readonly #program: Program;
  readonly #exchanges: Map<number, Exchange>;
  readonly #waiting: Map<number, () => void>;
  #last = 0;

  private constructor(program: Program, readyMs: number, exchanges: Map<number, Exchange>, waiting: Map<number, () => void>) {
    this.#program = program;
    this.readyMs = readyMs;
    this.#exchanges = exchanges;
    this.#waiting = waiting;
  }

  static async start(
    kind: string,
    image: string,
    { network = 'none', countsStatements = false }: LoadOptions = {},
  ): Promise<GatewayUnderLoad> {
    const exchanges = new Map<number, Exchange>();
    const waiting = new Map<number, () => void>();
    const script = (request: ModelRequest): Reply => {
      const asked = request.messages.findLast(({ role }) => role === 'user')?.text ?? '';
      const number = numberIn(asked);
      const exchange = exchanges.get(number);
      if (!exchange) return says('No message belongs to this request.');
      if (Number.isNaN(exchange.askedAt)) exchange.askedAt = request.receivedAt;
      const call = { call: 'terminal', input: { command: 'true' }, id: `call_${number}` };
      const reply = asked.includes('tool') && request.last.role === 'user' ? { pieces: [call] } : says(`Answer ${number}.`);
      exchange.answeredAt = performance.now();
      return reply;
    };
    const config = {
      terminal: { backend: kind, network, container_persistent: false, ...(kind === 'docker' && { docker_image: image }) },
      // The limits of Telegram are not what is measured.
      telegram: { allow_all: true, calls_per_second: 1000 },
      model: { context_tokens: 1_000_000 },
    };
    const program = await Program.start({
      script,
      config,
      ...(countsStatements && { preload: statementsProbe }),
      environment: { HERMETIC_BENCH_STATEMENTS: statementsFile },
    });
    await program.stop();
    for (const length of [shortConversation, longConversation]) await converse(program, length);
    const begun = performance.now();
    await program.start();
    const readyMs = performance.now() - begun;
    program.api.trouble = ({ method, parameters }) => {
      const number = method === 'sendmessage' ? numberIn(String(parameters.text)) : Number.NaN;
      const exchange = exchanges.get(number);
      if (exchange && Number.isNaN(exchange.sentAt)) exchange.sentAt = performance.now();
      waiting.get(number)?.();
      return undefined;
    };
    return new GatewayUnderLoad(program, readyMs, exchanges, waiting);
  }

  /** Sends one message in a private chat and waits for the answer. */
  async exchange(chat: number, kind: Kind = 'plain'): Promise<Exchange> {
    const number = ++this.#last;
    const exchange: Exchange = { saidAt: performance.now(), askedAt: Number.NaN, answeredAt: Number.NaN, sentAt: Number.NaN };
    this.#exchanges.set(number, exchange);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(number, resolve);
    const timer = setTimeout(() => reject(new Error(`no answer in chat ${chat}: ${this.#program.output}`)), deadlineMs);
    this.#program.api.world.says({ from: { id: chat, is_bot: false, first_name: `Person ${chat}` }, text: `${kind} number ${number}.` });
    await promise.finally(() => clearTimeout(timer));
    this.#waiting.delete(number);
    this.#exchanges.delete(number);
    if (number % forgetEvery === 0) this.#forget();
    return exchange;
  }

  /** One message in each of so many chats, all at once. */
  async burst(chats: number, kind: Kind, from: number): Promise<void> {
    await Promise.all(Array.from({ length: chats }, (_, index) => this.exchange(from + index, kind)));
  }

  /** So many messages in each chat, the next one as soon as the one before is answered. */
  async saturate(chats: number, kind: Kind, from: number, each: number): Promise<Saturated> {
    const before = cpuTimes(this.#program.pid);
    const begun = performance.now();
    const writing = Array.from({ length: chats }, async (_, index) => {
      for (let message = 0; message < each; message++) await this.exchange(from + index, kind);
    });
    await Promise.all(writing);
    const seconds = (performance.now() - begun) / 1000;
    return { messages: chats * each, seconds, cpu: cpuTimesBetween(before, cpuTimes(this.#program.pid)) };
  }

  /** The SQL statements since this was last asked. */
  async statements(): Promise<Statements> {
    rmSync(statementsFile, { force: true });
    process.kill(this.#program.pid, 'SIGUSR2');
    await until('the statements are written', () => existsSync(statementsFile));
    return JSON.parse(readFileSync(statementsFile, 'utf8')) as Statements;
  }

  /** Memory of the gateway alone, without its sandboxes. */
  residentBytes(): number {
    return proportionalBytes(this.#program.pid);
  }

  async close(): Promise<void> {
    await this.#program.stop();
    await this.#program.close();
    rmSync(statementsFile, { force: true });
  }

  #forget(): void {
    this.#program.api.forget(forgetEvery * 2);
    this.#program.model.forget();
  }
}

function numberIn(text: string): number {
  return Number(/(?:number|Answer) (\d+)\./.exec(text)?.[1] ?? Number.NaN);
}

/** A conversation of so many messages, in the chat with that number. */
async function converse(program: Program, length: number): Promise<void> {
  const place = { platform: 'telegram', workspace: undefined, chat: String(length), thread: undefined };
  const parts = sessionId({ ...place, user: String(length) }).parts;
  const store = await openStore(join(program.directory, 'state.db'));
  try {
    await store.conversations.session(parts, { title: 'bench', place }, new Date());
    const sentence = 'A sentence of the usual length that somebody wrote a while ago. ';
    for (let turn = 0; turn < length / 2; turn++) {
      const messages = [
        { role: 'user', content: [{ type: 'text', text: `Question ${turn}: ${sentence}` }] },
        { role: 'assistant', content: [{ type: 'text', text: sentence.repeat(3) }] },
      ];
      await store.conversations.append(parts, `earlier-${turn}`, messages, new Date());
    }
  } finally {
    await store.close();
  }
}
