import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

const others: Readonly<Record<string, string>> = { '127.0.0.1': '::1', '::1': '127.0.0.1' };

/** How listening fails where the machine has no such address: then no other program can listen there. */
const absent = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

export interface Localhost {
  /** The name `localhost` leads to this server and to no other program. */
  isOurs: boolean;
  close(): Promise<void>;
}

/**
 * Takes the other loopback address too, because `localhost` names both and browsers begin with `::1`. Security:
 * otherwise another user of this machine could listen there, and would be handed the code of the link.
 */
export async function takeLocalhost(server: Server): Promise<Localhost> {
  const { address, port } = server.address() as AddressInfo;
  const other = others[address];
  if (other === undefined) return { isOurs: false, close: async () => undefined };
  const beside = createServer((socket) => server.emit('connection', socket));
  beside.listen(port, other);
  try {
    await once(beside, 'listening');
  } catch (error) {
    return { isOurs: absent.has((error as NodeJS.ErrnoException).code ?? ''), close: async () => undefined };
  }
  return {
    isOurs: true,
    close: async () => {
      const closed = once(beside, 'close');
      beside.close();
      await closed;
    },
  };
}
