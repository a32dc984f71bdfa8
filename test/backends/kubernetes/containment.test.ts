import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../../src/backends/sandbox-directory.ts';
import { createApp } from '../../../src/index.ts';
import { proofText, prove } from '../../../src/proof/index.ts';
import { describeNeeding } from '../../needs.ts';
import { output, useCluster } from './rig.ts';

describeNeeding(['machines', 'openssl'], 'pods of a cluster', async () => {
  const { cluster, backend, spec, open } = await useCluster();
  const home = mkdtempSync(join(tmpdir(), 'hermetic-kubernetes-home-'));
  afterAll(() => removeTree(home));

  it('proves the isolation of a pod from a sibling, the host and the cluster', async () => {
    const program = backend();
    const [own, other] = [spec(), spec()];
    const [sandbox, second] = await Promise.all([open(program, own), open(program, other)]);
    const proof = await prove({
      sandbox,
      spec: own,
      backend: program,
      sibling: { spec: other, sandbox: second },
      hermeticHome: home,
      engineSockets: [],
    });
    expect(
      proof.lines.filter(({ verdict }) => verdict === 'broken' || verdict === 'unknown'),
      proofText(proof),
    ).toEqual([]);
    expect(proof.lines).toContainEqual(expect.objectContaining({ check: 'cluster-access', verdict: 'held' }));
    await Promise.all([sandbox.destroy(), second.destroy()]);
  });

  it('breaks the proof of a pod that has a token of its cluster', async () => {
    const program = backend();
    const own = spec();
    const sandbox = await open(program, own);
    const directory = '/run/secrets/kubernetes.io/serviceaccount';
    await output(sandbox, `mkdir -p ${directory} && echo secret >${directory}/token`);
    const proof = await prove({ sandbox, spec: own, backend: program, hermeticHome: home, engineSockets: [] });
    expect(proof.lines.filter(({ verdict }) => verdict === 'broken').map(({ check }) => check)).toEqual(['cluster-access']);
    await sandbox.destroy();
  });

  it('gives a chat session a spare pod, finds it again after a restart, and removes the spares that are left', async () => {
    const environment = {
      HOME: home,
      PATH: process.env.PATH ?? '',
      HERMETIC_HOME: join(home, '.hermetic'),
      TERMINAL_ENV: 'kubernetes',
      TERMINAL_WARM_SPARES: '1',
      TERMINAL_KUBERNETES_KUBECONFIG: cluster.kubeconfig(),
      TERMINAL_KUBERNETES_IMAGE: 'test:image',
    };
    const app = createApp({ environment });
    expect(await app.sandboxes.prepare()).toBeUndefined();
    const [spare] = cluster.pods.all().map(({ metadata }) => metadata.uid);
    expect((await app.sandboxes.run('ada', 'echo kept >file; export KEPT=1')).end).toEqual({ kind: 'exited', code: 0 });
    const name = app.sandboxes.of('ada').name;
    expect(cluster.pods.get(`hermetic-${name}`).metadata.uid).toBe(spare);
    await app.close();
    expect(cluster.pods.all().map(({ metadata }) => metadata.uid)).toEqual([spare]);
    const again = createApp({ environment: { ...environment, TERMINAL_WARM_SPARES: '0' } });
    expect((await again.sandboxes.run('ada', 'cat file; echo "$KEPT"')).stdout).toBe('kept\n1\n');
    expect(cluster.pods.get(`hermetic-${name}`).metadata.uid).toBe(spare);
    await again.sandboxes.of('ada').destroy();
    await again.close();
    expect(cluster.pods.all()).toEqual([]);
  });
});
