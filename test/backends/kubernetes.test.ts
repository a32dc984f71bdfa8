import { afterAll } from 'vitest';
import { KubernetesApi } from '../../src/backends/kubernetes/api.ts';
import { Credentials } from '../../src/backends/kubernetes/credentials.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend, type Variant } from '../engines.ts';
import { FakeCluster } from '../fakes/kubernetes/cluster.ts';
import { describeNeeding } from '../needs.ts';

// What is printed is held by the runtime, the kubelet, the API server and the kernel's sockets between them.
const maxBytesAhead = 32 * 1024 * 1024;

/** A cluster on loopback, whose pods are sandboxes of this machine. */
async function loopbackCluster(): Promise<Variant> {
  const cluster = await FakeCluster.start();
  afterAll(() => cluster.close());
  return {
    options: { kubernetes_kubeconfig: cluster.kubeconfig(), kubernetes_image: 'test:image', kubernetes_storage: 'claim' },
    image: 'test:image',
    maxBytesAhead,
    endFromOutside: async (name) => cluster.delete(`hermetic-${name}`, 0),
  };
}

/** A real one, with the manifests applied. It must be on this machine: some tests look for the processes of a sandbox here. */
function realCluster(kubeconfig: string): Variant {
  const image = process.env.HERMETIC_TEST_IMAGE ?? 'python:3.13';
  const api = new KubernetesApi(new Credentials({ environment: process.env, kubeconfig }));
  const pods = '/api/v1/namespaces/hermetic-sandboxes/pods';
  return {
    title: 'kubernetes on a real cluster',
    options: { kubernetes_kubeconfig: kubeconfig, kubernetes_image: image, kubernetes_storage: 'claim' },
    image,
    maxBytesAhead,
    endFromOutside: async (name) => void (await api.request('DELETE', `${pods}/hermetic-${name}`, { gracePeriodSeconds: 0 })),
  };
}

const { HERMETIC_TEST_KUBECONFIG: kubeconfig } = process.env;
if (kubeconfig) await describeBackend('kubernetes', sandboxContract, realCluster(kubeconfig));
else {
  describeNeeding(['machines', 'openssl'], 'a fake of a cluster', async () => {
    await describeBackend('kubernetes', sandboxContract, await loopbackCluster());
  });
}
