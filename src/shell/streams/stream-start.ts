import type { Readable } from 'node:stream';
import { printable } from '../../lib/printable.ts';
import type { EndRecord } from '../end-channel.ts';
import type { AttachedCommand } from './attached-command.ts';
import { FrameSplitter } from './frame-splitter.ts';
import type { StreamPipe } from './stream-pipe.ts';
import { StreamRecords } from './stream-records.ts';

/** The max output of a shell that is not up yet. */
const maxEarlyBytes = 64 * 1024;
/** Security: a piece costs this much however short it is, for each is an object of its own. */
const minCost = 64;
const maxQuoted = 500;
/** How long nothing may arrive of the output of a shell that says it has ended. */
const lastOutputMs = 10_000;

const cutShort = 'the end of its output did not arrive';

export interface StartListener {
  receive(record: EndRecord): void;
  /** No record comes any more; only after the shell was up. */
  over(reason: string): void;
}

/**
 * Listens to a supervisor. Resolves when its shell is up, or the sandbox has no room for one. Rejects with the reason when neither
 * happens: then no command has begun, and nothing of what was said is in the pipes.
 */
export function startShell(
  attached: AttachedCommand,
  nonce: string,
  pipes: { stdout: StreamPipe; stderr: StreamPipe },
  listener: StartListener,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isUp = false;
  let open = 2;
  let early: [StreamPipe, Buffer][] = [];
  let earlyBytes = 0;
  const add = (pipe: StreamPipe, data: Buffer): void => {
    if (!isUp) earlyBytes += Math.max(data.length, minCost);
    if (isUp) pipe.add(data);
    else if (earlyBytes <= maxEarlyBytes) early.push([pipe, data]);
    // Security: what is no shell, and never will be, is not listened to for ever.
    else failed('it prints without end');
  };
  const failed = (reason: string): void => {
    if (isUp) {
      listener.over(reason);
      return;
    }
    attached.destroy();
    const said = printable(early.map(([, data]) => data.toString()).join('')).slice(0, maxQuoted);
    reject(new Error(said || reason));
  };
  const receive = (record: EndRecord): void => {
    if (record.kind === 'status' && !isUp) {
      failed(`its shell ended with code ${record.code}`);
      return;
    }
    if (record.kind === 'ready' || record.kind === 'no-room') {
      isUp = true;
      for (const [pipe, data] of early) pipe.add(data);
      early = [];
      resolve();
    }
    listener.receive(record);
  };
  const records = new StreamRecords(nonce, receive, () => {
    attached.destroy();
    failed('the shell reported more than a shell has to say');
  });
  /** A supervisor tells how its shell ended. Where it was killed itself, or never started, only the engine may know something. */
  const ended = (): void => {
    open -= 1;
    if (open > 0) return;
    if (isUp) failed(records.isShort ? cutShort : 'the shell ended without a report');
    else
      attached.exitCode().then(
        (code) => failed(`it ended with code ${code ?? 'unknown'}`),
        (error: Error) => failed(error.message),
      );
  };
  let quiet: NodeJS.Timeout | undefined;
  /** Security: a command can keep a mark from arriving, and its supervisor waits for us. */
  const awaitOutput = (): void => {
    clearTimeout(quiet);
    if (!records.isShort || attached.stdout.destroyed) return;
    const isHeldUp = (): boolean => attached.stdout.isPaused() || attached.stderr.isPaused();
    quiet = setTimeout(() => (isHeldUp() ? awaitOutput() : failed(cutShort)), lastOutputMs).unref();
  };
  const listen = (source: Readable, splitter: FrameSplitter): void => {
    source.on('data', (chunk: Buffer) => {
      splitter.push(chunk);
      awaitOutput();
    });
    source.on('error', (error) => failed(error.message));
    source.on('end', () => {
      splitter.end();
      ended();
    });
  };
  pipes.stdout.holdUp(attached.stdout);
  pipes.stderr.holdUp(attached.stderr);
  const onStdout = { bytes: (data: Buffer) => add(pipes.stdout, data), frame: records.mark.bind(records), damaged: () => undefined };
  const onStderr = {
    bytes: (data: Buffer) => add(pipes.stderr, data),
    frame: records.frame.bind(records),
    damaged: () => records.damaged(),
  };
  listen(attached.stdout, new FrameSplitter(nonce, onStdout));
  listen(attached.stderr, new FrameSplitter(nonce, onStderr));
  return promise;
}
