import type { ScriptLanguage } from '../../core/approval.ts';
import type { ToolResult } from '../../core/tool.ts';
import { errorText } from '../../lib/error-text.ts';
import { encodeFrame, FrameReader } from './code-frames.ts';
import { type CodeFunction, inputFrom } from './code-functions.ts';

/** Like the context's, but also until the end of the script. */
type InnerCall = (name: string, input: unknown, signal: AbortSignal) => Promise<ToolResult>;

export interface BridgeOptions {
  language: ScriptLanguage;
  functions: ReadonlyMap<string, CodeFunction>;
  maxToolCalls: number;
  call: InnerCall;
  /** Resolves when it is sensible to write more. */
  write(data: Buffer): Promise<void>;
  /** The script does not keep to the rules and is to be ended. At most once. */
  fail(): void;
}

interface Call {
  id: string;
  bytes: number;
  run(): Promise<ToolResult>;
}

const maxFrameBytes = 8 * 1024 * 1024;
/** So that they fit into a frame. What is more the script's side refuses by itself. */
const maxArgumentBytes = maxFrameBytes - 64 * 1024;
/** Of calls that are not answered yet, and again of answers that are not read yet. */
const maxWaitingBytes = 4 * maxFrameBytes;
/** Cost of a message beside its bytes. */
const minCost = 1024;
const maxAtOnce = 8;
/** A script that goes on after so many refusals will not stop by itself. */
const maxRefusals = 1000;

/** The host's side of a script: takes its calls to the tools and brings the answers. The memory it uses has a bound. */
export class CodeBridge {
  readonly #options: BridgeOptions;
  readonly #frames = new FrameReader(maxFrameBytes);
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #queue: Call[] = [];
  #sending: Promise<void> = Promise.resolve();
  #unanswered = 0;
  #unread = 0;
  #refusals = 0;
  /** How many calls were made. */
  calls = 0;
  /** Why the script had to be ended. */
  violation: string | undefined;
  /** That there is no interpreter, or what there is instead. */
  missing: string | undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Sent to the script's side before the first call. */
  begin(code: string, declarations: string): void {
    this.#send([code, declarations, String(maxArgumentBytes)]);
  }

  /** Never throws, and never waits: a script that waits for us must not have to wait for itself. */
  receive(data: Buffer): void {
    if (this.#isOver()) return;
    try {
      for (const frame of this.#frames.push(data)) {
        this.#take(frame);
        if (this.#isOver()) return;
      }
    } catch (error) {
      this.#violated(errorText(error));
    }
  }

  /** Resolves when every call is over. No more are made. */
  async end(): Promise<void> {
    this.#ending.abort();
    this.#queue.length = 0;
    await Promise.all(this.#running);
  }

  #isOver(): boolean {
    return this.violation !== undefined || this.#ending.signal.aborted;
  }

  #violated(reason: string): void {
    if (this.#isOver()) return;
    this.violation = reason;
    this.#options.fail();
  }

  #take([kind, ...fields]: Buffer[]): void {
    if (kind?.equals(Buffer.from('missing'))) {
      this.missing ??= fields[0]?.toString().slice(0, 1000) ?? '';
      return;
    }
    const [id, name, ...values] = fields;
    if (!kind?.equals(Buffer.from('call')) || !id || !name || !/^\d{1,32}$/.test(id.toString('latin1'))) {
      throw new Error('it wrote what is no call of a tool');
    }
    this.#accept(id.toString('latin1'), name, values);
  }

  #accept(id: string, name: Buffer, values: Buffer[]): void {
    const { maxToolCalls } = this.#options;
    if (this.calls >= maxToolCalls) {
      this.#refusals += 1;
      if (this.#refusals > maxRefusals) throw new Error(`it went on calling tools after its ${maxToolCalls} calls`);
      this.#answer(id, failed(`A script may call tools ${maxToolCalls} times, and this one has.`));
      return;
    }
    this.calls += 1;
    const bytes = Math.max(
      values.reduce((sum, { length }) => sum + length, 0),
      minCost,
    );
    this.#unanswered += bytes;
    if (this.#unanswered > maxWaitingBytes) throw new Error('it called tools with more at once than can be kept');
    this.#queue.push({ id, bytes, run: () => this.#run(name, values) });
    this.#next();
  }

  #next(): void {
    while (this.#running.size < maxAtOnce) {
      const call = this.#queue.shift();
      if (!call) return;
      const done = this.#perform(call).finally(() => {
        this.#running.delete(done);
        this.#next();
      });
      this.#running.add(done);
    }
  }

  async #perform({ id, bytes, run }: Call): Promise<void> {
    const result = await run().catch((error: unknown) => failed(String(error)));
    this.#unanswered -= bytes;
    this.#answer(id, result);
  }

  async #run(name: Buffer, values: Buffer[]): Promise<ToolResult> {
    const { functions, language, call } = this.#options;
    const called = functions.get(name.toString());
    if (!called) {
      const asked = JSON.stringify(name.toString('utf8', 0, 100));
      return failed(`There is no tool called ${asked} for scripts. There are: ${[...functions.keys()].join(', ')}.`, 'unknown-tool');
    }
    let input: unknown;
    try {
      input = inputFrom(language, called, values);
    } catch (error) {
      return failed(`The arguments of ${called.name} cannot be read: ${errorText(error)}`, 'bad-input');
    }
    return await call(called.name, input, this.#ending.signal);
  }

  #answer(id: string, result: ToolResult): void {
    if (this.#isOver()) return;
    const text = this.#contentOf(result);
    // A result that does not fit still gets an answer.
    if (text.length * 3 > maxFrameBytes && Buffer.byteLength(text) > maxFrameBytes) {
      this.#send([id, 'failed', `The answer is longer than ${maxFrameBytes} bytes. Ask for less at once.`]);
    } else {
      this.#send([id, result.ok ? 'ok' : result.failure, text]);
    }
  }

  /** Bash gets the text, without the byte it cannot hold. */
  #contentOf(result: ToolResult): string {
    if (this.#options.language === 'bash') return result.text.replaceAll('\0', '');
    return result.ok ? JSON.stringify(result.data) : result.text;
  }

  #send(fields: readonly string[]): void {
    const frame = encodeFrame(fields);
    const cost = Math.max(frame.length, minCost);
    this.#unread += cost;
    if (this.#unread > maxWaitingBytes) {
      this.#violated('it called tools without reading the answers');
      return;
    }
    this.#sending = this.#sending
      .then(() => this.#options.write(frame))
      // A script that is gone, or has closed its side, reads nothing.
      .catch(() => undefined)
      .then(() => {
        this.#unread -= cost;
      });
  }
}

function failed(text: string, failure: 'failed' | 'unknown-tool' | 'bad-input' = 'failed'): ToolResult {
  return { ok: false, failure, text };
}
