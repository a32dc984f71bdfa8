import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { WebSocket } from 'ws';
import { HermeticError } from '../../core/errors.ts';
import { ByteStore } from '../../lib/byte-store.ts';
import { errorText } from '../../lib/error-text.ts';
import { TwoOutputs } from '../../lib/two-outputs.ts';
import type { AttachedCommand } from '../../shell/streams/attached-command.ts';
import type { KubernetesApi } from './api.ts';
import { connectionError, refusalError } from './api-errors.ts';

/** The version of the protocol in which the input of a command can end while it goes on printing. */
const protocol = 'v5.channel.k8s.io';
const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;
const handshakeMs = 30_000;
/** Proxies and clouds cut connections that are silent for a few minutes. */
const pingEveryMs = 20_000;
const maxMessageBytes = 4 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const maxStatusBytes = 64 * 1024;
/** A server need not take longer messages. */
const maxSentBytes = 32 * 1024;

export interface ExecStreamOptions {
  pingEveryMs?: number;
}

/** Starts a command at this path of the API, the `exec` of a pod with its query. A command that may have started is never started again. */
export async function openExec(
  api: KubernetesApi,
  path: string,
  { pingEveryMs: everyMs = pingEveryMs }: ExecStreamOptions = {},
): Promise<AttachedCommand> {
  for (let attempt = 1; ; attempt++) {
    const { url, options } = await api.target(path);
    const connection = await connect(url.replace(/^https/, 'wss'), options, everyMs);
    if ('stdin' in connection) return connection;
    if (connection.status !== 401 || attempt > 1) throw refusalError(connection.status, connection.text);
    api.renewCredentials();
  }
}

interface Refused {
  status: number;
  text: string;
}

function connect(url: string, options: object, everyMs: number): Promise<AttachedCommand | Refused> {
  const { promise, resolve, reject } = Promise.withResolvers<AttachedCommand | Refused>();
  const bounds = { handshakeTimeout: handshakeMs, maxPayload: maxMessageBytes, perMessageDeflate: false, followRedirects: false };
  const socket = new WebSocket(url, protocol, { ...options, ...bounds });
  // Joined at once, so that what comes right behind the answer is not missed.
  socket.once('upgrade', ({ socket: tcp }) => socket.once('open', () => resolve(join(socket, tcp, everyMs))));
  socket.once('unexpected-response', (request, response) => {
    readRefusal(response).then(
      (text) => {
        request.destroy();
        resolve({ status: response.statusCode ?? 0, text });
      },
      (error: unknown) => reject(connectionError(error, new URL(url).host)),
    );
  });
  socket.once('error', (error) => {
    if (/subprotocol/i.test(error.message)) reject(tooOld());
    else reject(connectionError(error, new URL(url).host));
  });
  return promise;
}

function tooOld(): HermeticError {
  return new HermeticError('backend/unavailable', `The cluster does not speak ${protocol}, by which the input of a command can end.`, {
    hint: 'Kubernetes 1.30 or newer is needed, also in proxies before its API.',
  });
}

async function readRefusal(response: IncomingMessage): Promise<string> {
  const bytes = new ByteStore(maxRefusalBytes);
  for await (const chunk of response) if (!bytes.push(chunk as Buffer)) break;
  return bytes.view().toString();
}

/** Makes three streams of one connection, without ever holding more than their buffers and one read. */
function join(socket: WebSocket, tcp: Socket, everyMs: number): AttachedCommand {
  tcp.setNoDelay(true);
  let over = false;
  let status: string | undefined;
  let isAnswered = true;
  const outputs = new TwoOutputs({
    pause: () => socket.pause(),
    resume: () => {
      if (over) return;
      isAnswered = true;
      socket.resume();
    },
  });
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      send(socket, chunk, done);
    },
    final(done) {
      socket.send(Buffer.of(channels.close, channels.stdin), () => done());
    },
    destroy(error, done) {
      // Half a message would be worse than none: the input only ends.
      if (!over && socket.readyState === WebSocket.OPEN) socket.send(Buffer.of(channels.close, channels.stdin), () => undefined);
      done(error);
    },
  });
  // Writers get the error by their own call. A stream without one must not end the program.
  stdin.on('error', () => undefined);

  const finish = (settle: () => void): void => {
    if (over) return;
    over = true;
    clearInterval(ping);
    socket.terminate();
    stdin.destroy();
    settle();
  };
  const cutOff = (cause?: unknown): void => {
    const lost = new HermeticError('sandbox/lost', 'The connection to the command was cut.', { cause });
    finish(() => outputs.destroy(lost));
  };
  socket.on('message', (data: Buffer) => {
    isAnswered = true;
    const rest = data.subarray(1);
    switch (data[0]) {
      case channels.stdout:
        return outputs.deliver('stdout', rest);
      case channels.stderr:
        return outputs.deliver('stderr', rest);
      case channels.status:
        if (rest.length <= maxStatusBytes) status ??= rest.toString();
        return;
      case channels.close:
        return;
      default:
        cutOff(new Error('a message of an unknown channel'));
    }
  });
  socket.on('pong', () => {
    isAnswered = true;
  });
  socket.on('error', cutOff);
  // Without a status the command may still run.
  socket.on('close', () => (status === undefined ? cutOff() : finish(() => outputs.end())));
  const ping = setInterval(() => {
    // While no one reads, nothing arrives, the answer to a ping neither.
    if (outputs.isFull) return;
    if (!isAnswered) return cutOff(new Error('the other end is silent'));
    isAnswered = false;
    socket.ping(undefined, undefined, () => undefined);
  }, everyMs).unref();
  return {
    stdin,
    stdout: outputs.stdout,
    stderr: outputs.stderr,
    exitCode: async () => (status === undefined ? undefined : exitCodeOf(status)),
    ref: () => void tcp.ref(),
    unref: () => void tcp.unref(),
    destroy: () => finish(() => outputs.destroy()),
  };
}

function send(socket: WebSocket, chunk: Buffer, done: (error?: Error | null) => void): void {
  if (chunk.length === 0) done();
  for (let at = 0; at < chunk.length; at += maxSentBytes) {
    const isLast = at + maxSentBytes >= chunk.length;
    const message = Buffer.concat([Buffer.of(channels.stdin), chunk.subarray(at, at + maxSentBytes)]);
    socket.send(message, { binary: true }, (error) => {
      if (isLast) done(error ?? null);
    });
  }
}

interface Status {
  status?: unknown;
  reason?: unknown;
  message?: unknown;
  details?: { causes?: { reason?: unknown; message?: unknown }[] };
}

/** undefined for a status that says something else than how the command ended; throws when the command could not be started. */
function exitCodeOf(text: string): number | undefined {
  const { status, reason, message, details } = parsed(text);
  if (status === 'Success') return 0;
  if (reason !== 'NonZeroExitCode') throw new HermeticError('sandbox/open-failed', refusalError(500, String(message ?? text)).message);
  const code = details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  return typeof code === 'string' && /^\d{1,3}$/.test(code) ? Number(code) : undefined;
}

function parsed(text: string): Status {
  try {
    return (JSON.parse(text) ?? {}) as Status;
  } catch (error) {
    return { message: errorText(error) };
  }
}
