import { setTimeout as delay } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { ExecProcess } from './node.ts';

const channels = { stdout: 1, stderr: 2, status: 3, close: 255 } as const;

export interface ChannelOptions {
  /** So long the streams stay open after the pod of a command has ended. */
  lingerMs(): number;
}

/** The server's side of an exec in version 5 of its protocol, with the ways of a real kubelet and its runtime. */
export async function serveExec(socket: WebSocket, process: ExecProcess, { lingerMs }: ChannelOptions): Promise<void> {
  const { stdin, stdout, stderr } = process;
  let isGone = false;
  socket.on('message', (data: Buffer) => {
    if (data[0] === channels.close) stdin.end();
    else if (data[0] === 0 && !stdin.destroyed && !stdin.writableEnded && !stdin.write(data.subarray(1))) {
      socket.pause();
      stdin.once('drain', () => socket.resume());
    }
  });
  // A client that goes away ends the input, and nothing else: the command goes on, and prints into nothing.
  const gone = (): void => {
    isGone = true;
    stdin.end();
    stdout.resume();
    stderr.resume();
  };
  socket.on('close', gone);
  socket.on('error', () => undefined);
  const forward = (source: typeof stdout, channel: number): Promise<void> =>
    new Promise((resolve) => {
      source.ref();
      source.on('data', (data: Buffer) => {
        if (isGone) return;
        source.pause();
        socket.send(Buffer.concat([Buffer.of(channel), data]), () => source.resume());
      });
      source.on('close', () => {
        // The runtime ends the input as soon as either output has ended.
        stdin.end();
        resolve();
      });
    });
  const [code] = await Promise.all([process.exited, forward(stdout, channels.stdout), forward(stderr, channels.stderr)]);
  stdin.destroy();
  const ms = lingerMs();
  if (ms > 0) await delay(ms, undefined, { ref: false });
  if (isGone) return;
  const status = Buffer.from(JSON.stringify(statusOf(code)));
  socket.send(Buffer.concat([Buffer.of(channels.status), status]), () => socket.close(1000));
}

function statusOf(code: number): object {
  if (code === 0) return { metadata: {}, status: 'Success' };
  const causes = [{ reason: 'ExitCode', message: String(code) }];
  const message = `command terminated with non-zero exit code: error executing command, exit code ${code}`;
  return { metadata: {}, status: 'Failure', message, reason: 'NonZeroExitCode', details: { causes } };
}
