import { once } from 'node:events';
import { afterAll, expect, it } from 'vitest';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { sleepMark } from '../contracts/sandbox/rig.ts';
import { processesWith } from '../engines.ts';
import { FakeCluster } from '../fakes/kubernetes/cluster.ts';
import { describeNeeding } from '../needs.ts';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

describeNeeding(['machines', 'openssl'], 'the command line with a cluster', async () => {
  const cluster = await FakeCluster.start();
  const hermetic = new Hermetic({
    TERMINAL_KUBERNETES_KUBECONFIG: cluster.kubeconfig(),
    TERMINAL_KUBERNETES_IMAGE: 'test:image',
    TERMINAL_LIFETIME_SECONDS: '60',
  });
  const run = (...args: readonly string[]) => hermetic.run(['run', '--backend', 'kubernetes', ...args]);
  const doctor = async (environment: Record<string, string>): Promise<string> =>
    (await hermetic.run(['doctor'], { environment: { DOCKER_HOST: 'unix:///nowhere/docker.sock', ...environment } })).stdout;

  afterAll(async () => {
    await cluster.close();
    await removeTree(hermetic.home);
  });

  it('runs commands of a session in one pod, and removes it with the session', async () => {
    expect(await run('--', 'echo kept >file; export KEPT=1; exit 3')).toMatchObject({ code: 3 });
    expect(await run('--', 'cat file; echo "$KEPT"; hostname')).toMatchObject({ code: 0, stdout: 'kept\n1\nsandbox\n' });
    expect(cluster.pods.all()).toHaveLength(1);
    expect((await hermetic.run(['sandbox', 'list'])).stdout).toContain('kubernetes');
    expect(await hermetic.run(['sandbox', 'destroy', 'default'])).toMatchObject({ code: 0 });
    expect(cluster.pods.all()).toEqual([]);
  });

  it('tells in doctor that the cluster works and which limit is not enforced', async () => {
    const told = await doctor({ TERMINAL_ENV: 'kubernetes' });
    expect(told).toMatch(/kubernetes: usable, cluster at https:\/\/localhost/);
    expect(told).toMatch(/pids: not enforced, a pod has no such limit/);
    expect(told).toContain('terminal.backend kubernetes: uses kubernetes');
    expect(cluster.pods.all()).toEqual([]);
  });

  it.each([
    [
      'nothing is configured',
      { TERMINAL_KUBERNETES_KUBECONFIG: '' },
      /not usable\n.*No Kubernetes cluster is configured.*\n.*fix: Name a kubeconfig/,
    ],
    ['the namespace is missing', { TERMINAL_KUBERNETES_NAMESPACE: 'elsewhere' }, /namespaces "elsewhere" not found\n.*kubectl apply -k/],
  ])('tells in doctor what to do when %s', async (_, environment, told) => {
    expect(await doctor(environment)).toMatch(told);
  });

  it('refuses what a pod cannot give, with the reason', async () => {
    const network = await hermetic.run(['run', '--backend', 'kubernetes', '--', 'true'], { environment: { TERMINAL_NETWORK: 'none' } });
    expect(network).toMatchObject({ code: 2, stderr: expect.stringContaining('NetworkPolicy') });
    const restricted = await hermetic.run(['run', '--backend', 'kubernetes', '--', 'true'], {
      environment: { TERMINAL_NETWORK: 'restricted' },
    });
    expect(restricted.stderr).toContain('cannot restrict the network');
    const volumes = await hermetic.run(['run', '--backend', 'kubernetes', '--', 'true'], {
      environment: { TERMINAL_DOCKER_VOLUMES: '["/usr:/data:ro"]' },
    });
    expect(volumes.stderr).toContain('another machine');
    expect(cluster.pods.all()).toEqual([]);
  });

  it('explains a wrong value of a key', async () => {
    const { code, stderr } = await hermetic.run(['run', '--', 'true'], { environment: { TERMINAL_KUBERNETES_USER: 'admin' } });
    expect(code).toBe(2);
    expect(stderr).toContain('one of root, nonroot');
  });

  it('leaves no foreground process and, after a sweep, no pod of an ephemeral session when it is killed', async () => {
    const mark = sleepMark();
    const environment = { TERMINAL_CONTAINER_PERSISTENT: 'false' };
    const child = hermetic.start(
      ['run', '--backend', 'kubernetes', '--session', 'brief', '--', `setsid sleep ${mark} & sleep ${mark}`],
      environment,
    );
    for (const stream of [child.stdout, child.stderr]) stream?.resume();
    await until('it runs', () => processesWith(mark).length === 2);
    child.kill('SIGKILL');
    await once(child, 'close');
    await until('its command is dead', () => processesWith(mark).length === 0);
    await until('no pod is left', async () => {
      await hermetic.run(['sandbox', 'prune'], { environment });
      return cluster.pods.all().length === 0;
    });
  });
});
