import { createServer, type Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import ssh2, { type Connection, type ServerChannel } from 'ssh2';
import type { ExecProcess } from '../kubernetes/node.ts';
import { LoopbackServer } from '../loopback-server.ts';
import { newHostKey } from '../ssh-host-key.ts';
import type { FakeSandbox } from './sandboxes.ts';

/** So much of a stream is sent that no one takes. */
const windowBytes = 2 * 1024 * 1024;

/**
 * The ssh gateway of Daytona, with its traps: everyone is let in, and a token that is not good ends the connection; errors are not passed on, and too
 * many of them hold the channel up for good; every exit code but 0 is 127. An old one passes on neither the end of input nor that of a connection.
 */
export class FakeGateway {
  isOld = false;
  /** Commands that were asked for. */
  readonly commands: string[] = [];
  connections = 0;
  readonly #listener: LoopbackServer;
  readonly #enter: (token: string) => Promise<FakeSandbox | undefined>;

  constructor(enter: (token: string) => Promise<FakeSandbox | undefined>) {
    this.#enter = enter;
    const hostKey = newHostKey().private;
    const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => this.#serve(connection));
    this.#listener = new LoopbackServer(
      createServer((socket) => {
        this.connections += 1;
        socket.setNoDelay(true);
        server.injectSocket(socket);
      }),
    );
  }

  async start(): Promise<void> {
    await this.#listener.comeUp();
  }

  get port(): number {
    return Number(new URL(this.#listener.origin).port);
  }

  cutAll(): void {
    this.#listener.cutAll();
  }

  async close(): Promise<void> {
    await this.#listener.goDown();
  }

  #serve(connection: Connection): void {
    const validated = Promise.withResolvers<FakeSandbox>();
    validated.promise.catch(() => undefined);
    connection.setMaxListeners(0);
    connection.on('error', () => undefined);
    connection.on('authentication', (context) => {
      if (context.method !== 'none') return context.reject([]);
      context.accept();
      void this.#enter(context.username).then((sandbox) => {
        if (sandbox) return validated.resolve(sandbox);
        validated.reject(new Error('refused'));
        connection.end();
      });
    });
    connection.on('request', (_accept, reject) => void validated.promise.then(() => reject?.()).catch(() => undefined));
    connection.on('session', (accept, reject) => {
      validated.promise
        .then((sandbox) => {
          if (!sandbox.machine) return void reject?.();
          accept().on('exec', (acceptExec, _reject, { command }) => {
            this.commands.push(command);
            void this.#run(connection, sandbox, command, acceptExec());
          });
        })
        .catch(() => undefined);
    });
  }

  async #run(connection: Connection, sandbox: FakeSandbox, command: string, channel: ServerChannel): Promise<void> {
    sandbox.channels += 1;
    channel.on('error', () => undefined);
    // Its machine may be removed meanwhile.
    const started = await sandbox.machine?.exec(['/bin/sh', '-c', command]).catch(() => undefined);
    if (!started) return void channel.close();
    const cut = (): void => {
      if (this.isOld) return;
      started.stdin.end();
      started.stdout.destroy();
    };
    connection.once('close', cut);
    channel.pipe(started.stdin, { end: !this.isOld });
    started.stdout.pipe(channel, { end: false });
    const code = await exitOf(started);
    connection.off('close', cut);
    sandbox.channels -= 1;
    sandbox.lastActivityAt = Math.max(sandbox.lastActivityAt, Date.now());
    channel.exit(code === 0 ? 0 : 127);
    // What waits for room in the window comes first.
    channel.end(() => channel.close());
  }
}

/** When both outputs have ended, which they do not when errors fill the window. */
async function exitOf({ stdout, stderr, exited }: ExecProcess): Promise<number> {
  let errorBytes = 0;
  stderr.on('data', (chunk: Buffer) => {
    errorBytes += chunk.length;
    if (errorBytes > windowBytes) stderr.pause();
  });
  const closed = (stream: Socket): Promise<void> => (stream.closed ? Promise.resolve() : finished(stream).catch(() => undefined));
  const [code] = await Promise.all([exited, closed(stdout), closed(stderr)]);
  return code;
}
