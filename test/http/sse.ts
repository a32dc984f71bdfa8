import type { WebMessage } from '../../src/core/web-log.ts';
import { until } from '../until.ts';
import type { TestGateway } from './gateway.ts';

export interface Frame {
  event: string;
  id: string | undefined;
  data: unknown;
}

/** A page's line to a chat, as it comes over the wire. */
export class Line {
  readonly frames: Frame[] = [];
  readonly status: number;
  readonly #abort: AbortController;
  isEnded = false;

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.#abort = abort;
    void this.#read(response);
  }

  static async open(gateway: TestGateway, chat: string, headers: Record<string, string> = {}, query = ''): Promise<Line> {
    const abort = new AbortController();
    return new Line(await gateway.call(`/api/chats/${chat}/events${query}`, { headers, signal: abort.signal }), abort);
  }

  /** The stream of a browser. */
  static async openSeveral(gateway: TestGateway, chats: Readonly<Record<string, number>>): Promise<Line> {
    const abort = new AbortController();
    const query = new URLSearchParams(Object.entries(chats).map(([chat, after]): [string, string] => ['chat', `${chat}:${after}`]));
    return new Line(await gateway.call(`/api/events?${query}`, { signal: abort.signal }), abort);
  }

  get messages(): WebMessage[] {
    return this.frames.filter(({ event }) => event === 'message').map(({ data }) => data as WebMessage);
  }

  get lastId(): string {
    return this.frames.findLast(({ id }) => id !== undefined)?.id ?? '0';
  }

  async until(what: string, condition: (line: Line) => unknown): Promise<void> {
    await until(what, () => Boolean(condition(this)));
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          this.#take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch (error) {
      if (!this.#abort.signal.aborted && !/terminated/.test(String(error))) throw error;
    } finally {
      this.isEnded = true;
    }
  }

  #take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]));
    const data = fields.get('data') ?? '';
    this.frames.push({ event: fields.get('event') ?? '', id: fields.get('id'), data: data === '' ? undefined : JSON.parse(data) });
  }
}
