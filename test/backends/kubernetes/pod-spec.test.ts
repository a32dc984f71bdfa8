import { expect, it } from 'vitest';
import { kubernetesOptions } from '../../../src/backends/kubernetes/options.ts';
import { podBody } from '../../../src/backends/kubernetes/pod-spec.ts';
import type { SandboxSpec } from '../../../src/core/sandbox.ts';
import { specWith } from '../../sandbox-spec.ts';

const spec = specWith({
  name: 'abc',
  session: 'telegram "Ada"',
  image: 'python:3.13',
  env: { SETTING: 'on', KUBERNETES_SERVICE_HOST: '10.0.0.1' },
  limits: { cpus: 1.5, memoryMb: 2048, diskMb: 1024, pids: 256 },
  network: undefined,
});

const body = (options: object = {}, wishes: Partial<SandboxSpec> = {}, version = '1') =>
  podBody({
    spec: { ...spec, ...wishes },
    options: kubernetesOptions.parse(options),
    installation: 'ab12',
    guestVersion: version,
    command: ['bash', '-c', 'echo "$1" $$', 'x', String(wishes.idleSeconds ?? 300)],
  });
const hash = (...input: Parameters<typeof body>): string | undefined => body(...input).metadata.annotations['hermetic.dev/spec'];

it('asks for no part of a node and no account of the cluster, with any settings', () => {
  for (const options of [{}, { kubernetes_user: 'nonroot' }, { kubernetes_storage: 'claim' }, { kubernetes_runtime_class: 'gvisor' }]) {
    const text = JSON.stringify(body(options));
    expect(text).not.toMatch(/hostPath|hostNetwork|hostPID|hostIPC|"privileged":true|serviceAccountName|"allowPrivilegeEscalation":true/);
    expect(body(options).spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [{ securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }],
    });
  }
});

it('gives root the few capabilities that packages need, and another user none', () => {
  const capabilities = (options: object): unknown => (body(options).spec.containers as [{ securityContext: unknown }])[0].securityContext;
  expect(capabilities({})).toMatchObject({ runAsUser: 0, capabilities: { add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'] } });
  expect(capabilities({ kubernetes_user: 'nonroot' })).toMatchObject({
    runAsUser: 1000,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(JSON.stringify(capabilities({ kubernetes_user: 'nonroot' }))).not.toContain('add');
});

it('turns limits into those of the pod, and reserves only what is configured', () => {
  const [container] = body().spec.containers as [{ resources: unknown }];
  expect(container.resources).toEqual({
    requests: { cpu: '50m', memory: '64Mi', 'ephemeral-storage': '64Mi' },
    limits: { cpu: '1500m', memory: '2048Mi', 'ephemeral-storage': '1024Mi' },
  });
  expect(body().spec.activeDeadlineSeconds).toBe(604_800);
  expect(body({ kubernetes_max_lifetime: 0 }).spec.activeDeadlineSeconds).toBeUndefined();
});

it('makes the variables of the cluster empty, also one that is configured, and leaves no dollar to be expanded', () => {
  const [container] = body().spec.containers as [{ env: { name: string; value: string }[]; command: string[] }];
  expect(container.env.filter(({ name }) => name.startsWith('KUBERNETES')).map(({ value }) => value)).toEqual(Array(8).fill(''));
  expect(container.command).toContain('echo "$$1" $$$$');
});

it('has the same hash for pods that may stand in for each other, and another one for a change that matters', () => {
  const same = [hash({ kubernetes_kubeconfig: '/other' }), hash({}, { session: 'x', workdir: '/tmp', idleSeconds: 5, directory: '/else' })];
  expect(new Set([hash(), ...same]).size).toBe(1);
  const others = [
    hash({ kubernetes_user: 'nonroot' }),
    hash({ kubernetes_storage: 'claim' }),
    hash({ kubernetes_pod_labels: { team: 'a' } }),
    hash({ kubernetes_pod_annotations: { note: 'a' } }),
    hash({ kubernetes_node_selector: { disk: 'ssd' } }),
    hash({ kubernetes_requests: { cpu: '1' } }),
    hash({}, { env: { SETTING: 'off' } }),
    hash({}, { image: 'python:3.14' }),
    hash({}, { limits: { ...spec.limits, memoryMb: 1 } }),
    hash({}, {}, '2'),
  ];
  expect(new Set([hash(), ...others]).size).toBe(others.length + 1);
});

it('refuses labels and annotations that would say whose a pod is', () => {
  for (const key of ['kubernetes_pod_labels', 'kubernetes_pod_annotations'])
    expect(() => kubernetesOptions.parse({ [key]: { 'hermetic.dev/installation': 'x' } })).toThrow();
  expect(() => kubernetesOptions.parse({ kubernetes_namespace: '../default' })).toThrow();
});
