import type { OutputChunk, Sandbox } from '../core/sandbox.ts';
import { ByteStore } from '../lib/byte-store.ts';
import { HeadTail } from '../lib/head-tail.ts';
import { TerminalText } from '../lib/terminal-text.ts';
import { SpillFile } from './spill-file.ts';

export interface Captured {
  /** Clean, and not longer than was asked for. */
  text: string;
  truncated: boolean;
  /** In the sandbox, with every byte as it was printed. */
  file: string | undefined;
}

export interface CaptureOptions {
  sandbox: Pick<Sandbox, 'name' | 'exec'>;
  maxBytes: number;
  /** Takes secrets out of the result. */
  redact(text: string): string;
  /** Gets the clean text as it comes. */
  onText(text: string): void;
}

/**
 * Listens to what a command prints: keeps the beginning and the end of it as clean text, and puts all of it into a file in the sandbox
 * once it is too much. Uses a bounded amount of memory however much there is.
 */
export class OutputCapture {
  readonly #options: CaptureOptions;
  readonly #kept: HeadTail;
  readonly #clean = new TerminalText();
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  /** Everything so far, until it is too much. */
  readonly #raw = new ByteStore();
  #spill: Promise<SpillFile | undefined> | undefined;

  constructor(options: CaptureOptions) {
    this.#options = options;
    this.#kept = new HeadTail(options.maxBytes);
  }

  async push({ stream, data }: OutputChunk): Promise<void> {
    this.#keep(this.#clean.push(this.#decoders[stream].decode(data, { stream: true })));
    await this.#store(data);
  }

  #keep(text: string): void {
    if (text === '') return;
    this.#kept.push(text);
    this.#options.onText(text);
  }

  async #store(data: Buffer): Promise<void> {
    if (!this.#spill) {
      this.#raw.push(data);
      if (this.#raw.length <= this.#options.maxBytes) return;
      const early = this.#raw.take();
      this.#spill = SpillFile.open(this.#options.sandbox).then(
        async (file) => {
          await file.write(early);
          return file;
        },
        // Without a place for it the rest is lost, and the result says so.
        () => undefined,
      );
      await this.#spill;
      return;
    }
    await (await this.#spill)?.write(data);
  }

  async end(): Promise<Captured> {
    for (const decoder of Object.values(this.#decoders)) this.#keep(this.#clean.push(decoder.decode()));
    this.#keep(this.#clean.end());
    const spill = await this.#spill;
    const file = await spill?.close();
    const { isCut } = this.#kept;
    const where = file === undefined ? 'and could not be kept' : `${spill?.isWhole ? 'all of it is' : 'the first 64 MiB are'} in ${file}`;
    const text = this.#kept.text((characters) => `[${characters} characters left out; ${where}]`, this.#options.redact);
    // A progress bar may be many bytes and yet a short text that needs no file.
    return { text, truncated: isCut, file: isCut ? file : undefined };
  }
}
