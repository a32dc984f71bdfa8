import type { ExecHandle, ExecRequest, OpenSandbox, TerminalSize } from '../core/sandbox.ts';
import { Attachment } from './shell/forker.ts';
import { ShellSession } from './shell/session.ts';
import type { StateStore } from './shell/state-store.ts';

/** A started forker, whatever it was started in. */
export interface Forker {
  name: string;
  /** Host path of the directory it has its pipes in. */
  runDirectory: string;
  workdir: string;
  /** Resolves with the reason when it has ended. */
  ended: Promise<string>;
  /** Ends it and every process with it, now. */
  end(): Promise<void>;
  /** After this process has let go. */
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** How long a forker that runs may take to bring up the first shell. */
const patienceMs = 20_000;

/** A sandbox whose shells are started by a forker. When this throws, the forker has been ended. */
export async function attachToForker(forker: Forker, store: StateStore, signal?: AbortSignal): Promise<OpenSandbox> {
  let attachment: Attachment | undefined;
  const open = async (): Promise<OpenSandbox> => {
    attachment = await Attachment.open(forker.runDirectory, forker.ended, signal);
    const session = await ShellSession.open({ spawner: attachment, store, workdir: forker.workdir, endSandbox: () => forker.end() });
    return new ForkedSandbox(forker, attachment, session);
  };
  // Security: what is still there of an earlier command may keep the forker of a durable sandbox from ever answering.
  const instead = Promise.withResolvers<never>();
  // Waiting pipes do not keep the program running; this does.
  const timer = setTimeout(() => instead.reject(new Error(`no shell came up in ${patienceMs / 1000} s`)), patienceMs);
  signal?.addEventListener('abort', () => instead.reject(signal.reason), { once: true });
  try {
    return await Promise.race([open(), instead.promise]);
  } catch (error) {
    attachment?.close();
    await forker.end();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

class ForkedSandbox implements OpenSandbox {
  readonly name: string;
  readonly ended: Promise<string>;
  readonly #forker: Forker;
  readonly #attachment: Attachment;
  readonly #session: ShellSession;

  constructor(forker: Forker, attachment: Attachment, session: ShellSession) {
    this.name = forker.name;
    this.ended = forker.ended;
    this.#forker = forker;
    this.#attachment = attachment;
    this.#session = session;
  }

  get cwd(): string {
    return this.#session.cwd;
  }

  exec(request: ExecRequest): Promise<ExecHandle> {
    return this.#session.exec(request);
  }

  shell(terminal?: TerminalSize): Promise<ExecHandle> {
    return this.#session.shell(terminal);
  }

  readFile(path: string): Promise<Buffer> {
    return this.#session.readFile(path);
  }

  writeFile(path: string, data: Uint8Array | string): Promise<void> {
    return this.#session.writeFile(path, data);
  }

  async close(): Promise<void> {
    this.#letGo();
    await this.#forker.close();
  }

  async destroy(): Promise<void> {
    this.#letGo();
    await this.#forker.end();
    await this.#forker.destroy();
  }

  #letGo(): void {
    this.#session.close();
    this.#attachment.close();
  }
}
