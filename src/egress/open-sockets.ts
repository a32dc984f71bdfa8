import { type ChildProcess, spawn } from 'node:child_process';
import { Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { Server } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { settlesWithin, within } from '../lib/deadline.ts';
import { errorText } from '../lib/error-text.ts';
import { started } from '../lib/started.ts';
import type { DoorFailure, EntranceWords, OpenerOrder, OpenerReport } from './messages.ts';

/** A sandbox on a busy machine takes a while until it can be entered. */
const openMs = 30_000;
/** The kernel ends a killed process sooner, unless it waits for a broken disk. */
const endMs = 5_000;
const maxStderr = 4_096;
const standardPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const opener = fileURLToPath(new URL('./opener.mjs', import.meta.url));

export interface WantedSocket {
  protocol: 'tcp' | 'udp';
  address: string;
  port: number;
  /** Called at once when it is open in this namespace, also if a later one cannot be opened. */
  onOpen(socket: Server | DatagramSocket, namespace: string): void;
}

export class DoorError extends Error {
  readonly failure: DoorFailure;

  constructor(failure: DoorFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}

/**
 * Opens sockets in a network namespace by a helper process that enters it. `onStarted` is called once the helper was started or could not be.
 * Rejects with a DoorError when the helper is gone; the sockets that were opened before are for the caller to close. Resolves when all are open;
 * the helper ends at once, and `helperGone` then resolves.
 */
export async function openSockets(
  entrance: EntranceWords,
  wanted: readonly WantedSocket[],
  onStarted: () => void,
  signal: AbortSignal,
): Promise<{ helperGone: Promise<unknown> }> {
  let helper: ChildProcess & { pid: number };
  try {
    helper = startHelper(entrance, wanted);
  } catch (error) {
    throw new DoorError({ reason: errorText(error) });
  } finally {
    onStarted();
  }
  const [, , stderr, , tie] = helper.stdio as unknown as [null, null, Readable, null, Writable];
  const closed = once(helper, 'close');
  let said = '';
  stderr.on('data', (data: Buffer) => {
    said = (said + data.toString()).slice(-maxStderr);
  });
  // It closes when this program dies. A host script reads from it which control groups to enter: none.
  tie.on('error', () => undefined);
  tie.write('\0');
  try {
    const received = receive(helper, wanted, () => lastLines(said) || 'the helper ended without a message');
    await within({ ms: openMs, signal }, received, () => {
      throw new DoorError({
        reason: signal.aborted ? 'it was given up' : `it took longer than ${openMs / 1_000} s. ${lastLines(said)}`.trim(),
      });
    });
    end(helper);
    return { helperGone: closed };
  } catch (error) {
    end(helper);
    await settlesWithin(endMs, closed);
    throw error;
  }
}

function startHelper({ command, input, namespace }: EntranceWords, wanted: readonly WantedSocket[]): ChildProcess & { pid: number } {
  const order: OpenerOrder = {
    sockets: wanted.map(({ protocol, address, port }) => ({ protocol, address, port })),
    outside: readlinkSync('/proc/self/ns/net'),
    maxMs: openMs,
  };
  const [file = '', ...rest] = [...command, process.execPath, opener, JSON.stringify(order)];
  return started(
    spawn(file, rest, {
      stdio: [input ?? 'ignore', 'ignore', 'pipe', namespace ?? 'ignore', 'pipe', 'ipc'],
      // Security: no option for Node and no secret reaches it.
      env: { PATH: standardPath },
      cwd: '/',
      // A process group of its own: Ctrl-C at the terminal is for the product to handle, and `end` reaches all of it.
      detached: true,
    }),
  );
}

async function receive(helper: ChildProcess, wanted: readonly WantedSocket[], whyEnded: () => string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const remaining = [...wanted];
  helper.on('message', (message, handle) => {
    const report = message as OpenerReport;
    const next = remaining.shift();
    if (report.kind === 'failed') reject(new DoorError({ reason: report.reason, takenPort: report.takenPort }));
    else if (next && (handle instanceof Server || handle instanceof DatagramSocket)) {
      // In the turn of the event loop in which it arrived, so that no connection comes before.
      next.onOpen(handle, report.namespace);
      if (remaining.length === 0) resolve();
      else helper.send('next', () => undefined);
    } else reject(new DoorError({ reason: 'the helper sent something else than a socket' }));
  });
  helper.once('close', () => reject(new DoorError({ reason: whyEnded() })));
  await promise;
}

function end(helper: ChildProcess & { pid: number }): void {
  // Nothing more is taken from it.
  helper.removeAllListeners('message').on('message', (_, handle) => (handle as Server | undefined)?.close());
  // While it has not been waited for, its number belongs to no other process.
  if (helper.exitCode !== null || helper.signalCode !== null) return;
  try {
    process.kill(-helper.pid, 'SIGKILL');
  } catch {
    helper.kill('SIGKILL'); // it has not begun its group yet
  }
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join('; ');
}
