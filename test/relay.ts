import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A way to an engine that shares nothing with this machine as far as anybody can see: bytes through a port. */
export interface Relay {
  /** In the form of `DOCKER_HOST`. */
  host: string;
  /** 0 for a relay on a socket. */
  port: number;
  /** Every request that went through, as `POST /containers/create`. */
  readonly requests: readonly string[];
  /** Cuts every connection there is. */
  cut(): void;
  /** From now on nothing passes, and neither end is told. */
  hush(): void;
  /** As an engine that was stopped. */
  stop(): Promise<void>;
  /** Listens again at the same place. */
  restart(): Promise<void>;
  close(): void;
}

/**
 * Leads to a socket, or a port. Listens on a free port, or on the socket `at` this path; with `tls` as an engine that was started with certificates.
 */
export async function startRelay(to: string | { host: string; port: number }, at?: string, tls?: TlsOptions): Promise<Relay> {
  const open = new Set<Socket>();
  const requests: string[] = [];
  const relay = (near: Socket): void => {
    const far = connect({ ...(typeof to === 'string' ? { path: to } : to), allowHalfOpen: true });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    near.on('data', (data: Buffer) => {
      for (const [, method, path] of data.toString('latin1').matchAll(/^([A-Z]+) (\S+) HTTP\/1\.1\r$/gm))
        requests.push(`${method} ${path}`);
    });
    near.pipe(far);
    far.pipe(near);
    // Who is gone altogether, and not only done with writing, takes the other along.
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  };
  const options = { allowHalfOpen: true, noDelay: true };
  const server = tls ? createTlsServer({ ...options, ...tls }, relay) : createServer(options, relay);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.on('error', reject).listen(at === undefined ? { port: 0, host: '127.0.0.1' } : { path: at }, resolve);
  await promise;
  const address = server.address();
  if (address === null) throw new Error('the relay has no address');
  const place = typeof address === 'string' ? { path: address } : { port: address.port, host: '127.0.0.1' };
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    requests,
    stop: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
    restart: async () => {
      server.listen(place);
      await once(server, 'listening');
    },
    port: 'path' in place ? 0 : place.port,
    hush: () => {
      for (const socket of open) socket.unpipe().pause();
    },
    host: 'path' in place ? `unix://${place.path}` : `tcp://127.0.0.1:${place.port}`,
    cut,
    close: () => {
      server.close();
      cut();
    },
  };
}
