import * as z from 'zod';
import { choice, listOf, markRestart, notes, secondsOrNoLimit, text, word } from '../../lib/setting-kinds.ts';

const week = 7 * 24 * 3600;

export const kubernetesOptions = z.strictObject({
  kubernetes_image: word('an image').default('nikolaik/python-nodejs:python3.11-nodejs20').describe('Image of the kubernetes backend.'),
  kubernetes_namespace: objectName('a namespace').default('hermetic-sandboxes').describe('The namespace of the pods.'),
  kubernetes_kubeconfig: text('a path')
    .optional()
    .describe(
      'The file that says how to reach the cluster; unset is `KUBECONFIG`, else `~/.kube/config`, else the service account of a pod.',
    ),
  kubernetes_context: text('the name of a context').optional().describe('The context of that file; unset is its current one.'),
  kubernetes_runtime_class: objectName('the name of a runtime class')
    .optional()
    .describe("Runtime class of the pods, for example one of gVisor or Kata; unset is the cluster's own."),
  kubernetes_user: choice(['root', 'nonroot'])
    .default('root')
    .describe(
      '`root` may install packages and needs a namespace of the level `baseline`; `nonroot` is the user 1000 without any capability, and fits the level `restricted`.',
    ),
  kubernetes_storage: choice(['none', 'claim'])
    .default('none')
    .describe('`none`: workspace and home last as long as the pod. `claim`: a volume claim of the session keeps them.'),
  kubernetes_storage_class: objectName('the name of a storage class')
    .optional()
    .describe("Storage class of the claims; unset is the cluster's own."),
  kubernetes_requests: z
    .strictObject({ cpu: quantity().default('50m'), memory: quantity().default('64Mi') })
    .register(notes, { expects: 'a map with the keys cpu and memory' })
    .default({ cpu: '50m', memory: '64Mi' })
    .describe('What the scheduler reserves for a pod. The limits are `terminal.container_cpu` and `container_memory`.'),
  kubernetes_node_selector: labels('labels of nodes').default({}).describe('Labels that a node must have.'),
  kubernetes_tolerations: listOf(toleration(), 'tolerations')
    .default([])
    .describe('Taints of nodes that the pods tolerate, in the words of a pod.'),
  kubernetes_pod_labels: labels('labels').default({}).describe('Further labels of the pods.'),
  kubernetes_pod_annotations: labels('annotations').default({}).describe('Further annotations of the pods.'),
  kubernetes_image_pull_secrets: listOf(objectName('the name of a secret'), 'names of secrets')
    .default([])
    .describe('Secrets of the namespace with which nodes pull the image.'),
  kubernetes_max_lifetime: secondsOrNoLimit()
    .default(week)
    .describe('The cluster ends a pod that is older than so many seconds, also one in use; 0 is never.'),
});

markRestart(
  kubernetesOptions,
  ...(Object.keys(kubernetesOptions.shape) as (keyof typeof kubernetesOptions.shape)[]).filter((key) => key !== 'kubernetes_image'),
);

export type KubernetesOptions = z.output<typeof kubernetesOptions>;

/** Security: becomes part of the paths of the API. */
function objectName(expects: string) {
  return z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/)
    .register(notes, { expects: `${expects} (lower-case letters, digits, - and .)` });
}

function quantity() {
  return z
    .string()
    .regex(/^\d+(?:\.\d+)?(?:m|[kMGT]i?)?$/)
    .register(notes, { expects: 'an amount such as 100m, 0.5, 256Mi or 1Gi' });
}

/** Security: our own labels and annotations say whose a pod is. */
function labels(plural: string) {
  return z
    .record(z.string().regex(/^(?!hermetic\.dev\/)[\w./-]{1,317}$/), z.string())
    .register(notes, { expects: `a map of ${plural} to their values, none of hermetic.dev` });
}

function toleration() {
  return z
    .strictObject({
      key: z.string().optional(),
      operator: z.enum(['Exists', 'Equal']).optional(),
      value: z.string().optional(),
      effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
      tolerationSeconds: z.int().min(0).optional(),
    })
    .register(notes, { expects: 'a toleration: key, operator, value, effect, tolerationSeconds' });
}
