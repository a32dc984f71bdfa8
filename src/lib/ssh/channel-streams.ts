import { Readable, Writable } from 'node:stream';
import type { Channel, ClientChannel } from 'ssh2';

/** So much is taken from a channel before its reader asks for it. */
const highWaterMark = 64 * 1024;

/** Streams of a channel. As long as either output is full and unread, the other end may send no more than the rest of its window, on both. */
export interface ChannelStreams {
  /** `end` half-closes: the other end sees the end of its input and can go on talking. */
  readonly stdin: Writable;
  /** They end when the other end says so, and fail when the connection is lost. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the channel is closed, or the connection lost. */
  readonly closed: Promise<void>;
  /** Ends the input, and drops the output that still comes. The other end decides when the channel is closed. */
  detach(): void;
  /** The connection is lost. */
  fail(error: Error): void;
}

/** The parts of a channel that its types leave out. */
interface Inner {
  incoming: { window: number };
  outgoing: { state: string };
}

/** `overrun` is called when the other end sends more than it may. */
export function channelStreams(channel: Channel | ClientChannel, overrun: () => void): ChannelStreams {
  const { incoming, outgoing } = channel as unknown as Inner;
  const closed = Promise.withResolvers<void>();
  const full = new Set<Readable>();
  const complete = new Set<Readable>();
  let isDetached = false;
  const drained = (stream: Readable): void => {
    if (full.delete(stream) && full.size === 0) channel._read(0);
  };
  const output = (source: Readable): Readable => {
    const stream = new Readable({
      highWaterMark,
      read: () => drained(stream),
      destroy: (error, done) => {
        drained(stream);
        done(error);
      },
    });
    const end = source.push.bind(source);
    // Security: instead of a buffer of the channel's own, which grows without end while one stream is full and the other is read.
    source.push = (data: Buffer | null): boolean => {
      if (data === null) {
        end(null);
        source.resume();
        return false;
      }
      if (incoming.window < 0) overrun();
      else if (!isDetached && !stream.destroyed && !stream.push(data)) full.add(stream);
      return full.size === 0;
    };
    source.once('end', () => {
      complete.add(stream);
      stream.push(null);
    });
    return stream;
  };
  const stdout = output(channel);
  const stderr = output(channel.stderr as Readable);
  const stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      // A channel that is closed never calls back.
      if (outgoing.state === 'open') channel.write(chunk, done);
      else done(new Error('it takes no input any more'));
    },
    final: (done) => {
      channel.end();
      done();
    },
  });
  // Writers and readers get an error by their own call. A stream without one must not end the program.
  for (const stream of [stdin, stdout, stderr, channel]) stream.on('error', () => undefined);
  channel.once('close', () => {
    stdin.destroy();
    closed.resolve();
  });
  return {
    stdin,
    stdout,
    stderr,
    closed: closed.promise,
    detach: () => {
      isDetached = true;
      if (!stdin.writableEnded) stdin.end();
      stdout.destroy();
      stderr.destroy();
    },
    fail: (error) => {
      stdin.destroy(error);
      // What has arrived in full can still be read.
      for (const stream of [stdout, stderr]) if (!complete.has(stream)) stream.destroy(error);
      closed.resolve();
    },
  };
}
