import { once } from 'node:events';
import { connect, createServer, type IpcNetConnectOpts, type ListenOptions, type Server, type TcpNetConnectOpts } from 'node:net';

/** Listens at one place, and makes every connection there one to the other place. */
export async function joinPlaces(here: ListenOptions, there: TcpNetConnectOpts | IpcNetConnectOpts): Promise<Server> {
  const server = createServer((near) => {
    const far = connect(there);
    near.pipe(far);
    far.pipe(near);
    near.on('error', () => undefined).on('close', () => far.destroy());
    far.on('error', () => undefined).on('close', () => near.destroy());
  });
  server.listen(here);
  await once(server, 'listening');
  return server;
}
