type Parameters = Record<string, unknown>;
type Answer = { id?: number; method?: string; params?: Parameters; result?: unknown; error?: { message: string } };

export interface ScriptParsed {
  scriptId: string;
  url: string;
}

/** A process whose inspector listens, over the Chrome DevTools protocol. */
export class Inspector {
  /** Every script the process has loaded, by its URL. Filled by `Debugger.enable`. */
  readonly scripts = new Map<string, string>();
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, { resolve(result: never): void; reject(error: Error): void }>();
  readonly #listeners = new Map<string, (params: never) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data)) as Answer));
    socket.addEventListener('close', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the process has ended'));
    });
    this.on('Debugger.scriptParsed', ({ url, scriptId }: ScriptParsed) => this.scripts.set(url, scriptId));
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', () => reject(new Error(`no inspector answers at ${url}`)));
    });
    return new Inspector(socket);
  }

  /** One listener for each event. */
  on<T>(event: string, listener: (params: T) => void): void {
    this.#listeners.set(event, listener);
  }

  async send<T = unknown>(method: string, params: Parameters = {}): Promise<T> {
    const id = ++this.#lastId;
    const answer = new Promise<T>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.#socket.send(JSON.stringify({ id, method, params }));
    return await answer;
  }

  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.send<{
      result: { value: T };
      exceptionDetails?: { exception?: { description?: string } };
    }>('Runtime.evaluate', {
      expression,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'the expression failed');
    return result.value;
  }

  close(): void {
    this.#socket.close();
  }

  #receive({ id, method, params, result, error }: Answer): void {
    if (method !== undefined) this.#listeners.get(method)?.(params as never);
    const call = this.#pending.get(id ?? 0);
    this.#pending.delete(id ?? 0);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result as never);
  }
}
