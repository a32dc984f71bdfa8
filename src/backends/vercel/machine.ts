import type { IncomingMessage } from 'node:http';
import type { Session } from '@vercel/sandbox';
import { abortAfter } from '../../lib/deadline.ts';
import { lateError } from './api-errors.ts';
import { realError, type VercelConnection } from './connection.ts';
import { jsonLines, type LogLine } from './json-lines.ts';

const callMs = 30_000;
const uploadMs = 120_000;
/** One that is held up by a command that does not read takes as long as that. */
const handOverMs = 600_000;

export interface Script {
  text: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/**
 * One machine of a sandbox, from its start to its stop. Every call is about this machine: one that has been stopped refuses, where a call about its
 * sandbox would start, and bill, another one. Nothing is sent twice.
 */
export class Machine {
  readonly #connection: VercelConnection;
  readonly #session: Session;

  constructor(connection: VercelConnection, session: Session) {
    this.#connection = connection;
    this.#session = session;
  }

  get id(): string {
    return this.#session.sessionId;
  }

  /** Starts bash and resolves with the name of the command. */
  async start(script: Script): Promise<string> {
    const { args, env } = bashOf(script);
    return await limited('start a command', callMs, async (signal) => {
      const command = await this.#session.runCommand({ cmd: 'bash', args, env, detached: true, signal });
      return command.cmdId;
    });
  }

  /** What a command has printed from its beginning and prints, until it has ended or the connection is cut. */
  async output(command: string, signal: AbortSignal): Promise<IncomingMessage> {
    return await this.#begun('GET', `${this.#commands}/${encodeURIComponent(command)}/logs`, undefined, signal);
  }

  /** Runs bash to its end. What it says comes as it is said. */
  async *run(script: Script, signal?: AbortSignal): AsyncGenerator<LogLine> {
    const body = JSON.stringify({ command: 'bash', ...bashOf(script), sudo: false, wait: true, logs: true });
    const late = AbortSignal.timeout(handOverMs);
    const ending = signal ? AbortSignal.any([signal, late]) : late;
    yield* jsonLines(await this.#begun('POST', this.#commands, body, ending));
  }

  /** undefined while it runs. */
  async exitCode(command: string): Promise<number | undefined> {
    return await limited('tell of a command', callMs, async (signal) => {
      const { exitCode } = await this.#session.getCommand(command, { signal });
      return exitCode ?? undefined;
    });
  }

  async upload(path: string, content: Uint8Array): Promise<void> {
    await limited('take a file', uploadMs, (signal) => this.#session.writeFiles([{ path, content, mode: 0o600 }], { signal }));
  }

  get #commands(): string {
    return `/v2/sandboxes/sessions/${encodeURIComponent(this.id)}/cmd`;
  }

  async #begun(method: string, path: string, body: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { 'Content-Type': 'application/json' };
    return await abortAfter(
      { ms: callMs, signal },
      (late) => this.#connection.send(method, this.#connection.path(path), { body, headers, signal: AbortSignal.any([signal, late]) }),
      () => lateError('answer', callMs),
    );
  }
}

function bashOf({ text, args = [], env = {} }: Script): { args: string[]; env: Record<string, string> } {
  return { args: ['--noprofile', '--norc', '-c', text, 'hermetic', ...args], env: { ...env } };
}

/** Runs a call of the package, which then ends in bounded time and fails with an error in words. */
export async function limited<T>(what: string, ms: number, call: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await abortAfter({ ms, signal }, call, () => lateError(what, ms));
  } catch (error) {
    signal?.throwIfAborted();
    throw realError(error);
  }
}
