import { afterEach, expect, it } from 'vitest';
import { describeNeeding } from '../../needs.ts';
import { useCluster } from './rig.ts';

describeNeeding(['machines', 'openssl'], 'the check of a cluster', async () => {
  const { cluster, backend } = await useCluster();
  const all = cluster.rules;

  afterEach(async () => {
    cluster.rules = all;
    cluster.level = 'baseline';
    cluster.fates.set('test:image', { kind: 'starts' });
  });

  it('says in a check what works, which limits hold, and leaves no pod', async () => {
    expect(await backend().check()).toMatchObject({
      usable: true,
      summary: expect.stringContaining(cluster.address),
      limits: { cpus: { enforced: true }, memoryMb: { enforced: true }, diskMb: { enforced: true }, pids: { enforced: false } },
      notes: [],
    });
    expect(cluster.pods.all()).toEqual([]);
  });

  it.each<[string, { options?: object; set?(): void }, { code: string; reason: RegExp; fix: RegExp }]>([
    [
      'no kubeconfig',
      { options: { kubernetes_kubeconfig: '/nowhere/config' } },
      { code: 'backend/unavailable', reason: /cannot be read/, fix: /./ },
    ],
    [
      'a cluster that is down',
      { options: { kubernetes_kubeconfig: cluster.kubeconfig(undefined, { server: 'https://localhost:1' }) } },
      { code: 'backend/not-running', reason: /does not answer/, fix: /cluster up/ },
    ],
    [
      'credentials that are refused',
      { options: { kubernetes_kubeconfig: cluster.kubeconfig({ token: 'expired' }) } },
      { code: 'backend/not-permitted', reason: /Unauthorized/, fix: /Renew/ },
    ],
    [
      'a missing right',
      { set: () => (cluster.rules = [{ resources: ['pods'], verbs: ['get', 'list', 'watch'] }]) },
      { code: 'backend/not-permitted', reason: /cannot create resource "pods"/, fix: /kubectl apply -k/ },
    ],
    [
      'a missing namespace',
      { options: { kubernetes_namespace: 'elsewhere' } },
      { code: 'backend/unavailable', reason: /namespaces "elsewhere" not found/, fix: /kubectl apply -k/ },
    ],
    [
      'a namespace that does not admit the pod',
      { set: () => (cluster.level = 'restricted') },
      { code: 'backend/unavailable', reason: /violates PodSecurity "restricted/, fix: /kubernetes_user/ },
    ],
    ['a full quota', { set: () => (cluster.quota = 0) }, { code: 'backend/unavailable', reason: /exceeded quota/, fix: /ResourceQuota/ }],
    [
      'an image without bash',
      { set: () => cluster.fates.set('test:image', { kind: 'fails', code: 127, message: '' }) },
      { code: 'backend/unavailable', reason: /code 127/, fix: /bash 5/ },
    ],
    [
      'an image that cannot be pulled',
      { options: { kubernetes_image: 'nowhere:latest' } },
      { code: 'backend/unavailable', reason: /cannot pull the image/, fix: /kubernetes_image/ },
    ],
  ])('explains %s in a check, with the fix', async (_, { options, set }, { code, reason, fix }) => {
    set?.();
    const check = await backend({ ...options }).check();
    cluster.quota = undefined;
    expect(check).toMatchObject({ usable: false, code, reason: expect.stringMatching(reason), fix: expect.stringMatching(fix) });
    expect(cluster.pods.all()).toEqual([]);
  });
});
