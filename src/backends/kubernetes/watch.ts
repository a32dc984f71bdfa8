import { setTimeout as delay } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { within } from '../../lib/deadline.ts';
import type { KubernetesApi } from './api.ts';
import { type Pod, type Reference, referenceTo } from './objects.ts';
import { type PodState, podState, startError } from './pod-state.ts';
import type { Pods } from './pods.ts';

type Look = (pod: Pod | undefined) => void;

interface Follower {
  uid: string;
  look: Look;
}

const pauses = { firstMs: 250, maxMs: 30_000, isSpread: true };
/** A watch that ends earlier counts as a failure, so that one that always ends is not begun again and again without a pause. */
const steadyMs = 5_000;
/** A cluster may add a node for a pod that has no room. */
const stuckMs = 120_000;
const slowMs = 600_000;

/**
 * One watch for all pods of the installation, while any of them is followed. How a pod ended is known from here: the streams of its commands may stay
 * open for seconds after it, or for ever.
 */
export class PodWatch {
  readonly #api: KubernetesApi;
  readonly #pods: Pods;
  readonly #followers = new Set<Follower>();
  #running: AbortController | undefined;

  constructor(api: KubernetesApi, pods: Pods) {
    this.#api = api;
    this.#pods = pods;
  }

  /** `look` gets the pod as it is now and whenever it changes, and undefined when it is gone, until the returned function is called. */
  follow({ name, uid }: Reference, look: Look): () => void {
    const follower = { uid, look };
    this.#followers.add(follower);
    if (!this.#running) {
      this.#running = new AbortController();
      void this.#run(this.#running.signal);
    }
    // It may have ended before it was followed. An unanswered question is answered by the next list.
    this.#pods.find(name).then(
      (pod) => this.#followers.has(follower) && look(pod && referenceTo(pod).uid === uid ? pod : undefined),
      () => undefined,
    );
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size > 0) return;
      this.#running?.abort();
      this.#running = undefined;
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const begun = performance.now();
      const isOrderly = await this.#listAndWatch(signal).then(
        () => true,
        () => false,
      );
      failures = isOrderly || performance.now() - begun >= steadyMs ? 0 : failures + 1;
      // A server that always ends a watch at once is not asked without a pause either.
      const ms = backoffMs(Math.max(failures, 1), pauses);
      await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Until the server ends the watch, or its answers are too old to go on from: then everything is listed again. */
  async #listAndWatch(signal: AbortSignal): Promise<void> {
    // One that is followed from here on may be missing from the list.
    const before = [...this.#followers];
    const query = { labelSelector: this.#pods.selector };
    const { items, resourceVersion } = await this.#api.list<Pod>(this.#pods.path, query, { signal });
    const byUid = new Map(items.map((pod) => [referenceTo(pod).uid, pod]));
    for (const follower of before) if (this.#followers.has(follower)) follower.look(byUid.get(follower.uid));
    for await (const { type, object } of this.#api.watch(this.#pods.path, { ...query, resourceVersion }, signal)) {
      if (type === 'ERROR') return;
      if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') continue;
      const { uid } = referenceTo(object);
      for (const follower of [...this.#followers])
        if (follower.uid === uid) follower.look(type === 'DELETED' ? undefined : (object as Pod));
    }
  }

  /** Resolves with the reason when the pod has ended. `stop` ends the waiting. */
  ended(pod: Reference): { reason: Promise<string>; stop(): void } {
    const { promise, resolve } = Promise.withResolvers<string>();
    const stop = this.follow(pod, (now) => {
      const state = podState(now);
      if (state.kind !== 'ended') return;
      stop();
      resolve(state.reason);
    });
    return { reason: promise, stop };
  }

  /** Resolves when the pod runs. Rejects with the reason when it never will, or takes longer than `deadlineMs`. */
  async untilRunning(
    pod: Reference,
    tell: (text: string) => void,
    { signal, deadlineMs }: { signal?: AbortSignal | undefined; deadlineMs?: number },
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let state: PodState = { kind: 'waiting', why: 'it is being scheduled', isStuck: false };
    let told = '';
    let stuckSince: number | undefined;
    const stop = this.follow(pod, (now) => {
      state = podState(now);
      if (state.kind === 'running') resolve();
      else if (state.kind === 'failing') reject(state.error);
      else if (state.kind === 'ended') reject(startError(state.reason));
      else {
        stuckSince = state.isStuck ? (stuckSince ?? Date.now()) : undefined;
        if (state.why !== told) tell(`the pod waits: ${state.why} …`);
        told = state.why;
      }
    });
    const late = (): never => {
      signal?.throwIfAborted();
      throw lateError(state);
    };
    const looking = setInterval(() => {
      if (stuckSince !== undefined && Date.now() - stuckSince > stuckMs) reject(lateError(state));
    }, 1_000);
    try {
      await within({ ms: deadlineMs ?? slowMs, signal }, promise, late);
    } finally {
      clearInterval(looking);
      stop();
    }
  }
}

/** Code `sandbox/no-room` when another pod may make room for it. */
function lateError(state: PodState): HermeticError {
  const why = state.kind === 'waiting' ? state.why : 'its state is unknown';
  const isStuck = state.kind === 'waiting' && state.isStuck;
  return new HermeticError(isStuck ? 'sandbox/no-room' : 'sandbox/open-failed', `The pod does not start: ${why}.`, {
    hint: 'See kubectl describe pod, terminal.kubernetes_requests, kubernetes_node_selector and kubernetes_tolerations.',
  });
}
