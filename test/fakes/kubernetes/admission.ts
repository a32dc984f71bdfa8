import { amountOf, type FakeObject, podSpecOf, Refusal } from './objects.ts';

export type Level = 'baseline' | 'restricted';

const knownPodFields = [
  ...[
    'restartPolicy',
    'automountServiceAccountToken',
    'enableServiceLinks',
    'terminationGracePeriodSeconds',
    'hostname',
    'securityContext',
  ],
  ...['containers', 'volumes', 'activeDeadlineSeconds', 'runtimeClassName', 'nodeSelector', 'tolerations', 'imagePullSecrets', 'hostUsers'],
];
const knownContainerFields = [
  ...['name', 'image', 'imagePullPolicy', 'command', 'workingDir', 'env', 'securityContext', 'resources', 'volumeMounts'],
];
const baselineCapabilities = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP'],
  ...['SETUID', 'SYS_CHROOT'],
];

/** What the API server checks before it takes a pod. */
export function admit(pod: FakeObject, level: Level, runtimeClasses: readonly string[]): void {
  const { name } = pod.metadata;
  const spec = podSpecOf(pod);
  const [container] = spec.containers;
  const unknown = [
    ...Object.keys(spec).filter((key) => !knownPodFields.includes(key)),
    ...Object.keys(container).filter((key) => !knownContainerFields.includes(key)),
  ];
  if (unknown.length > 0) throw new Refusal(400, 'BadRequest', `Pod in version "v1" cannot be handled: unknown field ${unknown.join()}`);
  for (const [key, wanted] of Object.entries(container.resources.requests ?? {})) {
    const limit = amountOf(container.resources.limits?.[key]);
    if (limit === undefined || (amountOf(wanted) ?? 0) <= limit) continue;
    const where = `spec.containers[0].resources.requests: Invalid value: "${wanted}"`;
    throw new Refusal(422, 'Invalid', `Pod "${name}" is invalid: ${where}: must be less than or equal to ${key} limit`);
  }
  const { runtimeClassName: runtime } = spec;
  if (runtime !== undefined && !runtimeClasses.includes(runtime))
    throw forbidden(name, `pod rejected: RuntimeClass "${runtime}" not found`);
  const { securityContext: own } = container;
  const added = own.capabilities.add ?? [];
  const allowed = level === 'restricted' ? ['NET_BIND_SERVICE'] : baselineCapabilities;
  const wrong = added.filter((one) => !allowed.includes(one));
  const names = wrong.map((one) => `"${one}"`).join(', ');
  const flaws = [
    ...(wrong.length > 0 ? [`unrestricted capabilities (container "sandbox" must not include ${names})`] : []),
    ...(spec.hostNetwork || spec.hostPID || spec.hostIPC ? ['host namespaces'] : []),
    ...(spec.volumes.some(({ hostPath }) => hostPath) ? ['hostPath volumes'] : []),
    ...(own.privileged ? ['privileged'] : []),
    ...(level === 'restricted' && !own.runAsNonRoot ? ['runAsNonRoot != true'] : []),
    ...(level === 'restricted' && own.allowPrivilegeEscalation ? ['allowPrivilegeEscalation != false'] : []),
    ...(level === 'restricted' && spec.securityContext.seccompProfile?.type !== 'RuntimeDefault' ? ['seccompProfile'] : []),
  ];
  if (flaws.length > 0) throw forbidden(name, `violates PodSecurity "${level}:latest": ${flaws.join(', ')}`);
}

/** Before anything else is said of the pod, also that it exists already. */
export function admitByQuota(pod: FakeObject, pods: readonly FakeObject[], quota: number | undefined): void {
  const used = pods.filter(({ status }) => status.phase !== 'Succeeded' && status.phase !== 'Failed').length;
  if (quota === undefined || used < quota) return;
  const counts = `requested: pods=1, used: pods=${used}, limited: pods=${quota}`;
  throw forbidden(pod.metadata.name, `exceeded quota: sandboxes, ${counts}`);
}

function forbidden(name: string, why: string): Refusal {
  return new Refusal(403, 'Forbidden', `pods "${name}" is forbidden: ${why}`);
}
