import type { Brought } from '../core/approval.ts';
import type { Door } from '../core/egress.ts';
import type { ExecHandle, ExecRequest, OpenSandbox, TerminalSize } from '../core/sandbox.ts';
import { within } from '../lib/deadline.ts';
import type { LimitWishes } from './limit-watch.ts';
import { ShellSession } from './session.ts';
import type { Spawner } from './spawner.ts';
import type { StateStore } from './state-store.ts';
import { tracedSpawner, traceShell } from './traced-spawner.ts';

/** Where shells run: a process, a container or a machine. */
export interface Place {
  name: string;
  workdir: string;
  /** undefined where limit hits are not counted. */
  limits: LimitWishes | undefined;
  /** Tells which connections failed; undefined where the network is not restricted. */
  network?: Pick<Door, 'watch'> | undefined;
  /** Resolves with the reason when it has ended. */
  ended: Promise<string>;
  /** Ends it and every process with it, now. */
  end(): Promise<void>;
  /** Called after this process has detached. */
  close(): Promise<void>;
  /** The same, and ends it unless another process is still attached. */
  stop(): Promise<void>;
  destroy(): Promise<void>;
  /** `destroy` needs no `end` before it, which may take long or fail where ending keeps files. */
  endsByDestroying?: true;
}

/** Started shells of one process at one place. */
export interface Attachment extends Spawner {
  /** Detaches from the place. */
  close(): Promise<void>;
}

/** How long a place that runs may take to bring up the first shell. */
const deadlineMs = 20_000;
const afterwardsMs = 200;

/** A sandbox of shells. When this throws, the place has been ended. */
export async function openShellSandbox(
  place: Place,
  store: StateStore,
  attach: () => Promise<Attachment>,
  signal?: AbortSignal,
): Promise<OpenSandbox> {
  const attaching = attach();
  let attachment: Attachment | undefined;
  const open = async (): Promise<OpenSandbox> => {
    attachment = await attaching;
    const { name, workdir, limits, network } = place;
    const endSandbox = (): Promise<void> => {
      traceShell(name, () => 'is ended, with everything in it');
      return place.end();
    };
    const spawner = tracedSpawner(name, attachment);
    const session = await ShellSession.open({ spawner, store, workdir, limits, network, endSandbox });
    return new ShellSandbox(place, attachment, session);
  };
  // Security: what is still there of an earlier command may keep a durable sandbox from ever answering.
  try {
    // Waiting pipes do not keep the program running; the deadline does.
    return await within({ ms: deadlineMs, signal }, open(), () => {
      signal?.throwIfAborted();
      throw new Error(`no shell came up in ${deadlineMs / 1000} s`);
    });
  } catch (error) {
    await attachment?.close();
    await place.end();
    // One that comes up only now is not used any more.
    const isLate = attachment === undefined;
    void attaching.then((late) => (isLate ? late.close() : undefined)).catch(() => undefined);
    throw error;
  }
}

/** Adds the end of the place, which closing, stopping and destroying differ in, to the session's commands. */
class ShellSandbox implements OpenSandbox {
  readonly name: string;
  readonly ended: Promise<string>;
  readonly #place: Place;
  readonly #attachment: Attachment;
  readonly #session: ShellSession;

  constructor(place: Place, attachment: Attachment, session: ShellSession) {
    this.name = place.name;
    this.ended = place.ended;
    this.#place = place;
    this.#attachment = attachment;
    this.#session = session;
  }

  get cwd(): string {
    return this.#session.cwd;
  }

  get definitions(): Readonly<Record<string, string>> {
    return this.#session.definitions;
  }

  get brought(): readonly Brought[] {
    return this.#session.brought;
  }

  bring(paths: readonly Brought[]): void {
    this.#session.bring(paths);
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

  async hasLiveProcesses(): Promise<boolean> {
    if (!(await this.#session.hasLiveProcesses())) return false;
    // The shell of a command that has just ended is there for a moment longer.
    await new Promise((resolve) => setTimeout(resolve, afterwardsMs));
    return await this.#session.hasLiveProcesses();
  }

  killAll(): Promise<void> {
    return this.#session.killAll();
  }

  end(reason: string): Promise<void> {
    return this.#session.endSandbox(reason);
  }

  async close(): Promise<void> {
    await this.#detach();
    await this.#place.close();
  }

  async stop(): Promise<void> {
    await this.#detach();
    await this.#place.stop();
  }

  async destroy(): Promise<void> {
    await this.#detach();
    if (!this.#place.endsByDestroying) await this.#place.end();
    await this.#place.destroy();
  }

  async #detach(): Promise<void> {
    this.#session.close();
    await this.#attachment.close();
  }
}
