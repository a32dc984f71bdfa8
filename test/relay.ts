import { connect, createServer, type Socket } from 'node:net';

/** A way to an engine that shares nothing with this machine as far as anybody can see: bytes through a port. */
export interface Relay {
  /** In the form of `DOCKER_HOST`. */
  host: string;
  /** Cuts every connection there is. */
  cut(): void;
  close(): void;
}

export async function startRelay(socketPath: string): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ path: socketPath, allowHalfOpen: true });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    near.pipe(far);
    far.pipe(near);
    // Who is gone altogether, and not only done with writing, takes the other along.
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.on('error', reject).listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    host: `tcp://127.0.0.1:${address.port}`,
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}
