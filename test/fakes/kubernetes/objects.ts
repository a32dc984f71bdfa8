/** The objects of the fake cluster, in the words of Kubernetes. */
export interface FakeObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}

export interface FakeContainer {
  name: string;
  image: string;
  command: string[];
  workingDir?: string;
  env?: { name: string; value: string }[];
  securityContext: {
    runAsUser: number;
    runAsGroup: number;
    runAsNonRoot: boolean;
    privileged: boolean;
    allowPrivilegeEscalation: boolean;
    capabilities: { drop?: string[]; add?: string[] };
  };
  resources: { requests?: Record<string, string>; limits?: Record<string, string> };
  volumeMounts: { name: string; mountPath: string; subPath?: string }[];
}

interface FakeVolume {
  name: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  persistentVolumeClaim?: { claimName: string };
  hostPath?: object;
}

export interface FakePodSpec {
  containers: [FakeContainer];
  volumes: FakeVolume[];
  securityContext: { seccompProfile?: { type: string }; fsGroup?: number };
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  runtimeClassName?: string;
  activeDeadlineSeconds?: number;
  terminationGracePeriodSeconds: number;
}

export function podSpecOf(pod: FakeObject): FakePodSpec {
  return pod.spec as unknown as FakePodSpec;
}

const units: Readonly<Record<string, number>> = { m: 0.001, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, '': 1 };

export function amountOf(quantity: string | undefined): number | undefined {
  const [, number, unit = ''] = /^([\d.]+)([A-Za-z]*)$/.exec(quantity ?? '') ?? [];
  return number === undefined ? undefined : Number(number) * (units[unit] ?? Number.NaN);
}

/** What the API server answers when it does not do what it was asked to do. */
export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }

  get body(): string {
    return statusBody(this.code, this.reason, this.message);
  }
}

export function statusBody(code: number, reason: string, message: string): string {
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
}
