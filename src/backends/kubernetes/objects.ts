/** The parts of the cluster's objects that matter here, in its own words. Security: they come from another program, so every part may be missing. */
interface Metadata {
  name?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
}

export interface KubernetesObject {
  kind?: string;
  metadata?: Metadata;
}

interface Ended {
  exitCode?: number;
  reason?: string;
  message?: string;
}

interface ContainerStatus {
  state?: { waiting?: { reason?: string; message?: string }; running?: object; terminated?: Ended };
}

export interface Pod extends KubernetesObject {
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: readonly { type?: string; status?: string; reason?: string; message?: string }[];
    containerStatuses?: readonly ContainerStatus[];
  };
}

/** Names one object, not another one that has its name later. */
export interface Reference {
  name: string;
  uid: string;
}

export function referenceTo({ metadata: { name = '', uid = '' } = {} }: KubernetesObject): Reference {
  return { name, uid };
}

export const labelNames = { installation: 'hermetic.dev/installation', name: 'hermetic.dev/name', probe: 'hermetic.dev/probe' } as const;
export const annotationNames = { session: 'hermetic.dev/session', spec: 'hermetic.dev/spec', creation: 'hermetic.dev/creation' } as const;

/** The pod and the claim of a sandbox have the same name. */
export function objectNameOf(sandbox: string): string {
  return `hermetic-${sandbox}`;
}

export function isOf(installation: string, { metadata }: KubernetesObject): boolean {
  return metadata?.labels?.[labelNames.installation] === installation;
}
