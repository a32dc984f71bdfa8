import { afterAll } from 'vitest';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { FakeCluster } from '../fakes/kubernetes/cluster.ts';

const cluster = await FakeCluster.start();
afterAll(() => cluster.close());

await describeBackend(
  'kubernetes',
  (engine) => {
    sandboxContract(engine);
  },
  {
    options: { kubernetes_kubeconfig: cluster.kubeconfig(), kubernetes_image: 'test:image', kubernetes_storage: 'claim' },
    image: 'test:image',
    maxBytesAhead: 32 * 1024 * 1024,
    endFromOutside: async (name) => cluster.delete(`hermetic-${name}`, 0),
  },
);
