import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId } from '../src/core/session.ts';
import { openStore } from '../src/stores/index.ts';
import { calls, type ModelRequest, type Reply, says } from '../test/fakes/model-server.ts';
import { Program } from '../test/gateway/program.ts';

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

type Kind = 'plain' | 'tool';

const patienceMs = 180_000;

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

  static async start(kind: string, image: string): Promise<GatewayUnderLoad> {
    const exchanges = new Map<number, Exchange>();
    const waiting = new Map<number, () => void>();
    const script = (request: ModelRequest): Reply => {
      const asked = request.messages.findLast(({ role }) => role === 'user')?.text ?? '';
      const number = numberIn(asked);
      const exchange = exchanges.get(number);
      if (!exchange) return says('No message belongs to this request.');
      if (Number.isNaN(exchange.askedAt)) exchange.askedAt = request.receivedAt;
      const reply =
        asked.includes('tool') && request.last.role === 'user' ? calls(['terminal', { command: 'true' }]) : says(`Answer ${number}.`);
      exchange.answeredAt = performance.now();
      return reply;
    };
    const config = {
      terminal: { backend: kind, network: 'none', container_persistent: false, ...(kind === 'docker' && { docker_image: image }) },
      telegram: { allow_all: true },
      model: { context_tokens: 1_000_000 },
    };
    const program = await Program.start({ script, config });
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
    const timer = setTimeout(() => reject(new Error(`no answer in chat ${chat}: ${this.#program.output}`)), patienceMs);
    this.#program.api.world.says({ from: { id: chat, is_bot: false, first_name: `Person ${chat}` }, text: `${kind} number ${number}.` });
    await promise.finally(() => clearTimeout(timer));
    this.#waiting.delete(number);
    return exchange;
  }

  /** One message in each of so many chats, all at once. */
  async burst(chats: number, kind: Kind, from: number): Promise<void> {
    await Promise.all(Array.from({ length: chats }, (_, index) => this.exchange(from + index, kind)));
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Memory of the gateway alone, without its sandboxes. */
  residentBytes(): number {
    const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.#program.pid}/smaps_rollup`, 'utf8'))?.[1];
    return Number(kilobytes) * 1024;
  }

  async close(): Promise<void> {
    await this.#program.stop();
    await this.#program.close();
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
