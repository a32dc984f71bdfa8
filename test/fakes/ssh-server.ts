import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import ssh2, { type ServerChannel } from 'ssh2';
import { newHostKey } from './ssh-host-key.ts';

/** An ssh server that misbehaves in ways that a real one does not. It runs nothing. */
export interface FakeSshServer {
  readonly port: number;
  /** Commands that were asked for. */
  readonly commands: readonly string[];
  close(): Promise<void>;
}

export interface Behaviour {
  /** Instead of speaking ssh. */
  raw?(socket: Socket): void;
  /** Of someone who has shown a key. Without it everyone is let in; `hang-up-later` lets them in first. */
  authentication?: 'refuse' | 'silent' | 'hang-up' | 'hang-up-later';
  session?: 'refuse' | 'hang-up' | 'silent';
  /** With a command that was accepted; `refuse` answers that it cannot be run. */
  exec?: 'refuse' | ((channel: ServerChannel) => void);
}

export async function startFakeSshServer(behaviour: Behaviour): Promise<FakeSshServer> {
  const commands: string[] = [];
  const open = new Set<Socket>();
  const hostKey = newHostKey().private;
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on('error', () => undefined);
    connection.on('authentication', (context) => {
      if (behaviour.authentication === 'refuse') context.reject(['publickey']);
      else if (behaviour.authentication === 'hang-up') connection.end();
      else if (behaviour.authentication !== 'silent') context.accept();
      if (behaviour.authentication === 'hang-up-later') connection.end();
    });
    connection.on('session', (accept, reject) => {
      if (behaviour.session === 'refuse') return void reject?.();
      if (behaviour.session === 'hang-up') return void connection.end();
      if (behaviour.session === 'silent') return;
      accept().on('exec', (acceptExec, rejectExec, { command }) => {
        commands.push(command);
        if (behaviour.exec === 'refuse') rejectExec?.();
        else if (behaviour.exec) behaviour.exec(acceptExec());
      });
    });
  });
  const listener = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    if (behaviour.raw) behaviour.raw(socket);
    else server.injectSocket(socket);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    commands,
    close: async () => {
      listener.close();
      for (const socket of open) socket.destroy();
      await once(listener, 'close');
    },
  };
}
