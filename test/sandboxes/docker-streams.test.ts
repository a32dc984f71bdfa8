import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { startRelay } from '../relay.ts';

/** The same engine by a port: nothing tells that it shares this kernel, so every shell is reached by its streams. */
const relay = await startRelay('/var/run/docker.sock');

await describeBackend('docker', (engine) => sandboxContract(engine), {
  title: 'docker by streams',
  docker: { host: relay.host },
  // The engine, its shim, the relay and the kernel's sockets between them each hold some of what was printed.
  mostBytesAhead: 32 * 1024 * 1024,
});
