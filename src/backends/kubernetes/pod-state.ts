import { HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import type { Pod } from './objects.ts';

/** How far a pod has come. `waits`: why, for people; `isStuck` when only a change of the cluster can help. */
export type PodState =
  | { kind: 'waiting'; why: string; isStuck: boolean }
  | { kind: 'running' }
  | { kind: 'failing'; error: HermeticError }
  | { kind: 'ended'; reason: string };

const maxQuoted = 500;
const imageReasons = ['ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'ImageInspectError', 'RegistryUnavailable'];
const brokenReasons = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'CrashLoopBackOff'];
/** The first failure to pull may pass; one of these does not. */
const lastingPull = /not found|unauthorized|denied|does not exist|invalid/i;
const noProgram = /executable file not found|no such file or directory|exec format error|ended with code 12[678]\b/i;
const needsBash = 'The image needs bash 5 or newer and coreutils.';

export function podState(pod: Pod | undefined): PodState {
  if (!pod) return { kind: 'ended', reason: 'the pod was deleted' };
  const { phase, reason, message, conditions = [], containerStatuses = [] } = pod.status ?? {};
  const { waiting, running, terminated } = containerStatuses[0]?.state ?? {};
  if (phase === 'Failed' || phase === 'Succeeded' || terminated) return { kind: 'ended', reason: endReason(pod) };
  if (phase === 'Running' && running) return { kind: 'running' };
  const said = (text: string | undefined): string => short(text ?? '');
  if (waiting?.reason === 'ErrImagePull' ? lastingPull.test(waiting.message ?? '') : imageReasons.includes(waiting?.reason ?? '')) {
    return failing('sandbox/no-image', `The node cannot pull the image: ${said(waiting?.message) || waiting?.reason}`, imageHint);
  }
  if (brokenReasons.includes(waiting?.reason ?? '')) {
    const hint = noProgram.test(waiting?.message ?? '') ? needsBash : undefined;
    return failing('sandbox/open-failed', `The container cannot be started: ${said(waiting?.message) || waiting?.reason}`, hint);
  }
  const unscheduled = conditions.find((one) => one.type === 'PodScheduled' && one.status === 'False');
  if (unscheduled)
    return { kind: 'waiting', why: `no node has room for it: ${said(unscheduled.message) || unscheduled.reason}`, isStuck: true };
  return { kind: 'waiting', why: said(waiting?.reason ?? reason ?? message) || 'it is being scheduled', isStuck: false };
}

const imageHint = 'Check terminal.kubernetes_image, and terminal.kubernetes_image_pull_secrets for a private registry.';

function failing(code: 'sandbox/no-image' | 'sandbox/open-failed', message: string, hint: string | undefined): PodState {
  return { kind: 'failing', error: new HermeticError(code, message, { hint }) };
}

function endReason({ status = {} }: Pod): string {
  const { terminated } = status.containerStatuses?.[0]?.state ?? {};
  const why = [status.reason, status.message].filter(Boolean).map((text) => short(text ?? ''));
  if (status.reason === 'Evicted') return `the cluster evicted the pod (${why.slice(1).join(' ') || 'no reason given'})`;
  if (status.reason === 'DeadlineExceeded') return 'the pod was older than terminal.kubernetes_max_lifetime';
  if (terminated?.reason === 'OOMKilled') return 'it ran out of memory, and the node ended all of it (terminal.container_memory)';
  if (why.length > 0) return `the pod failed: ${why.join(': ')}`;
  const said = short(terminated?.message ?? '');
  return `its first process ended with code ${terminated?.exitCode ?? 'unknown'}${said ? `: ${said}` : ''}`;
}

/** Why a pod that ended before it was used did so. */
export function startError(reason: string): HermeticError {
  const hint = noProgram.test(reason) ? needsBash : undefined;
  return new HermeticError('sandbox/open-failed', `The pod ended before it could be used: ${reason}.`, { hint });
}

function short(text: string): string {
  return printable(text).slice(0, maxQuoted);
}
