import { HermeticError } from '../../core/errors.ts';
import type { Check, Enforcement } from '../../core/sandbox.ts';
import { firstProcessCommand } from '../../shell/streams/keeper.ts';
import { failedCheck } from '../failed-check.ts';
import { probeSpec, requireBash } from '../probe.ts';
import type { KubernetesApi } from './api.ts';
import { labelNames, referenceTo } from './objects.ts';
import type { KubernetesOptions } from './options.ts';
import { podBody } from './pod-spec.ts';
import type { Pods } from './pods.ts';
import type { PodWatch } from './watch.ts';

/** A check ends also with a server that has stopped answering. */
const answerMs = 8_000;
/** A node may have to pull the image first. */
const startMs = 30_000;
const execMs = 15_000;
/** The outer bound of a pod whose program has died. */
export const probeSeconds = 120;

export const enforcement: Enforcement = {
  cpus: { enforced: true, how: 'limit of the pod' },
  memoryMb: { enforced: true, how: 'limit of the pod; most nodes end all of a pod that reaches it' },
  diskMb: { enforced: true, how: 'the node evicts a pod that uses more, with all that runs in it; a claim has its own size' },
  pids: { enforced: false, how: 'a pod has no such limit; only the kubelet of a node has one (podPidsLimit)' },
};

export interface CheckOptions {
  api: KubernetesApi;
  pods: Pods;
  watch: PodWatch;
  installation: string;
  options: KubernetesOptions;
  image: string;
}

/** Makes a pod of this image as sessions get it, runs `true` in it, and removes it. Never throws. */
export async function checkKubernetes(parts: CheckOptions): Promise<Check> {
  const { api, pods, options, image } = parts;
  try {
    const summary = `cluster at ${await api.where()}, namespace ${options.kubernetes_namespace}, image ${image}`;
    await pods.list({ timeoutMs: answerMs });
    const notes = await tryPod(parts);
    return { usable: true, summary, limits: enforcement, notes };
  } catch (error) {
    return failedCheck(error, 'See kubectl describe pod and the events of the namespace.');
  }
}

async function tryPod(parts: CheckOptions): Promise<string[]> {
  const { pods, watch } = parts;
  const pod = referenceTo(await pods.create(await probeBody(parts), undefined));
  try {
    let waits = '';
    try {
      await watch.untilRunning(pod, (text) => (waits = text), { deadlineMs: startMs });
    } catch (error) {
      const isSlow = error instanceof HermeticError && error.code === 'sandbox/open-failed' && /ContainerCreating|[Pp]ull/.test(waits);
      if (!isSlow) throw error;
      return [
        `The pod had not started after ${startMs / 1000} s (${waits}): the node may still be pulling the image. No command was tried.`,
      ];
    }
    await requireBash(pods.attachTo(pod.name), 'A pod', {
      deadlineMs: execMs,
      hint: 'The image needs bash 5 or newer and coreutils: change terminal.kubernetes_image.',
    });
    return [];
  } finally {
    await pods.remove(pod);
  }
}

async function probeBody({ installation, options, image }: CheckOptions) {
  const spec = probeSpec(image, probeSeconds, { cpus: 1, memoryMb: 256, diskMb: 128, pids: 0 });
  const bounded = { ...options, kubernetes_max_lifetime: probeSeconds };
  const body = podBody({ spec, options: bounded, installation, guestVersion: '', command: await firstProcessCommand(spec) });
  body.metadata.labels[labelNames.probe] = 'check';
  return body;
}
