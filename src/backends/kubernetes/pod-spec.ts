import type { Places, SandboxSpec } from '../../core/sandbox.ts';
import { digestOf } from '../../lib/canonical-json.ts';
import { workdirInside } from '../workdir.ts';
import { annotationNames, labelNames, objectNameOf } from './objects.ts';
import type { KubernetesOptions } from './options.ts';
import { storageOf, workspaceInside } from './storage.ts';

export interface PodInput {
  spec: SandboxSpec;
  options: KubernetesOptions;
  /** Tells our pods from those of another installation in the same namespace. */
  installation: string;
  /** Of the guest's files. */
  guestVersion: string;
  /** The main process. */
  command: readonly string[];
}

export interface PodBody {
  apiVersion: 'v1';
  kind: 'Pod';
  metadata: { name: string; labels: Record<string, string>; annotations: Record<string, string> };
  spec: Record<string, unknown>;
}

export const containerName = 'sandbox';

/** A kubelet gives them to every container, also without service links: they name the API server. */
const clusterVariables: readonly string[] = [
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
  'KUBERNETES_SERVICE_PORT_HTTPS',
  'KUBERNETES_PORT',
  'KUBERNETES_PORT_443_TCP',
  'KUBERNETES_PORT_443_TCP_PROTO',
  'KUBERNETES_PORT_443_TCP_PORT',
  'KUBERNETES_PORT_443_TCP_ADDR',
];

/** The command without these variables, which a pod can only make empty. */
export function withoutClusterVariables(command: readonly string[]): string[] {
  return ['env', ...clusterVariables.flatMap((name) => ['-u', name]), ...command];
}

/** Without a capability no process of another user can be signalled, so there is one user. */
const nonroot = 1000;
/** What root needs to install packages into its own files, and to step down to another user, as apt does. Nothing here lets a process step up. */
const rootCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];
/** How long the first process may take to end when a pod is deleted. It ends at once. */
export const graceSeconds = 2;
/** Without it the scheduler would reserve the whole limit. */
const requestedDisk = '64Mi';

function homeOf({ kubernetes_user: user }: KubernetesOptions): string {
  return user === 'root' ? '/root' : '/home/agent';
}

export function placesInside({ env, workdir }: SandboxSpec, options: KubernetesOptions): Places {
  const home = env.HOME ?? homeOf(options);
  return { home, workdir: workdirInside(workdir, { home, workspace: workspaceInside }) };
}

/** The pod of a sandbox. Pure. */
export function podBody(input: PodInput): PodBody {
  const { spec: sandbox, options, installation, command } = input;
  const spec = podSpec(input);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: objectNameOf(sandbox.name),
      labels: {
        ...options.kubernetes_pod_labels,
        [labelNames.installation]: installation,
        [labelNames.name]: sandbox.name,
        'app.kubernetes.io/managed-by': 'hermetic',
      },
      annotations: {
        ...options.kubernetes_pod_annotations,
        [annotationNames.session]: sandbox.session,
        [annotationNames.spec]: specHash(spec, input),
      },
    },
    spec: { ...spec, containers: [{ ...container(input), command: withoutClusterVariables(command).map(literal) }] },
  };
}

/**
 * Equal for two pods that may stand in for each other: everything but the names, the way to the cluster, and how long it may idle, which stands in the
 * command. Security: it is read by those who can read the pod, and so every value in it.
 */
function specHash(spec: Record<string, unknown>, { options, guestVersion }: PodInput): string {
  const {
    kubernetes_image: _,
    kubernetes_kubeconfig: _file,
    kubernetes_context: _context,
    kubernetes_namespace: _place,
    ...settings
  } = options;
  return digestOf([1, spec, guestVersion, settings]);
}

/** Security: no network, process or file of a node (hostNetwork, hostPID, hostIPC, hostPath), and no account of the cluster. */
function podSpec(input: PodInput): Record<string, unknown> {
  const { spec, options } = input;
  const { kubernetes_max_lifetime: maxLifetime, kubernetes_runtime_class: runtimeClassName, kubernetes_user: user } = options;
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    hostname: 'sandbox',
    securityContext: {
      seccompProfile: { type: 'RuntimeDefault' },
      ...(user === 'nonroot' && { fsGroup: nonroot }),
    },
    containers: [container(input)],
    volumes: storageOf(spec, options, homeOf(options)).volumes,
    ...(maxLifetime > 0 && { activeDeadlineSeconds: Math.ceil(maxLifetime) }),
    ...(runtimeClassName !== undefined && { runtimeClassName }),
    nodeSelector: options.kubernetes_node_selector,
    tolerations: options.kubernetes_tolerations,
    imagePullSecrets: options.kubernetes_image_pull_secrets.map((name) => ({ name })),
  };
}

function container({ spec, options }: PodInput): Record<string, unknown> {
  const home = homeOf(options);
  const { kubernetes_user: user, kubernetes_image: defaultImage } = options;
  const empty = Object.fromEntries(clusterVariables.map((name) => [name, '']));
  const env = { HOME: home, ...spec.env, ...empty };
  const isRoot = user === 'root';
  const id = isRoot ? 0 : nonroot;
  return {
    name: containerName,
    image: spec.image ?? defaultImage,
    imagePullPolicy: 'IfNotPresent',
    workingDir: '/',
    env: Object.entries(env).map(([name, value]) => ({ name, value: literal(value) })),
    securityContext: {
      privileged: false,
      allowPrivilegeEscalation: false,
      runAsUser: id,
      runAsGroup: id,
      runAsNonRoot: !isRoot,
      capabilities: { drop: ['ALL'], ...(isRoot && { add: rootCapabilities }) },
    },
    resources: resourcesOf(spec, options),
    volumeMounts: storageOf(spec, options, home).volumeMounts,
  };
}

/** A cluster puts the value of a variable in the place of `$(NAME)`, and a single `$` in the place of two, also in commands. */
function literal(value: string): string {
  return value.replaceAll('$', () => '$$');
}

function resourcesOf({ limits: { cpus, memoryMb, diskMb } }: SandboxSpec, { kubernetes_requests: { cpu, memory } }: KubernetesOptions) {
  return {
    requests: { cpu, memory, ...(diskMb > 0 && { 'ephemeral-storage': requestedDisk }) },
    limits: {
      ...(cpus > 0 && { cpu: `${Math.round(cpus * 1000)}m` }),
      ...(memoryMb > 0 && { memory: `${memoryMb}Mi` }),
      ...(diskMb > 0 && { 'ephemeral-storage': `${diskMb}Mi` }),
    },
  };
}
