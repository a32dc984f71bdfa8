import type { Daemon } from './daemon.ts';
import { HttpDaemon } from './http-daemon.ts';
import { defaultRoot } from './options.ts';
import { SocketDaemon } from './socket-daemon.ts';

export interface DaemonAddress {
  account: string;
  apiRoot: string | undefined;
  socket: string | undefined;
}

export function daemonAt({ account, apiRoot, socket }: DaemonAddress): Daemon {
  return socket === undefined ? new HttpDaemon(apiRoot ?? defaultRoot, account) : new SocketDaemon(socket, account);
}
