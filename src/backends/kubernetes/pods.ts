import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import { refusedStatus } from '../refusal.ts';
import type { CallOptions, KubernetesApi } from './api.ts';
import { openExec } from './exec-stream.ts';
import { annotationNames, isOf, labelNames, type Pod, type Reference, referenceTo } from './objects.ts';
import { containerName, graceSeconds, type PodBody, withoutClusterVariables } from './pod-spec.ts';
import { ignoreGone, undefinedIfMissing } from './storage.ts';

const createMs = 60_000;
const looks = { firstMs: 20, maxMs: 1_000 };
/** For a node to end what runs in a pod and to say so. */
const removalMs = 60_000;

/** The pods of one installation in one namespace. */
export class Pods {
  /** Of the namespace, for lists and watches. */
  readonly path: string;
  /** Names all pods of this installation. */
  readonly selector: string;
  readonly #api: KubernetesApi;
  readonly #installation: string;

  constructor(api: KubernetesApi, installation: string, namespace: string) {
    this.#api = api;
    this.#installation = installation;
    this.path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
    this.selector = `${labelNames.installation}=${installation}`;
  }

  /** undefined when there is no pod of this name. */
  async find(name: string, options: CallOptions = {}): Promise<Pod | undefined> {
    const found = await this.#api.request<Pod>('GET', this.#pathOf(name), undefined, options).catch(undefinedIfMissing);
    // Security: a pod that this installation did not make is neither used nor removed.
    if (found && !isOf(this.#installation, found)) {
      throw new HermeticError('sandbox/in-use', `A pod ${name} exists that this installation did not make.`, {
        hint: 'Remove it, or use another namespace (terminal.kubernetes_namespace).',
      });
    }
    return found;
  }

  /**
   * Makes a pod. Also where the answer does not arrive, it is found by what was written into it. `signal` counts before and afterwards only: a server
   * goes on making a pod whose client has left.
   */
  async create(body: PodBody, signal: AbortSignal | undefined): Promise<Pod> {
    signal?.throwIfAborted();
    const creation = randomUUID();
    const { metadata } = body;
    const marked = { ...body, metadata: { ...metadata, annotations: { ...metadata.annotations, [annotationNames.creation]: creation } } };
    let pod: Pod;
    try {
      pod = await this.#api.request<Pod>('POST', this.path, marked, { timeoutMs: createMs });
    } catch (error) {
      if (refusedStatus(error) !== undefined) throw error;
      const found = await this.find(metadata.name).catch(() => undefined);
      if (found?.metadata?.annotations?.[annotationNames.creation] !== creation) throw error;
      pod = found;
    }
    if (!pod.metadata?.uid || pod.metadata.name !== metadata.name) {
      throw new HermeticError('backend/unavailable', 'The Kubernetes API answered with another object than the pod that was made.');
    }
    if (signal?.aborted) {
      await this.remove(referenceTo(pod));
      signal.throwIfAborted();
    }
    return pod;
  }

  /**
   * Ends a pod and resolves when all that ran in it is dead and it is gone. Does nothing when it is gone already. Security: by its uid, so that a pod
   * of the same name that another program has made meanwhile stays.
   */
  async remove({ name, uid }: Reference): Promise<void> {
    await this.#api.request('DELETE', this.#pathOf(name), { gracePeriodSeconds: graceSeconds, preconditions: { uid } }).catch(ignoreGone);
    await this.untilGone({ name, uid });
  }

  /** Resolves when a pod that is being removed is gone. */
  async untilGone({ name, uid }: Reference, signal?: AbortSignal): Promise<void> {
    const deadline = Date.now() + removalMs;
    for (let tries = 1; ; tries++) {
      const found = await this.find(name, { signal });
      if (!found || referenceTo(found).uid !== uid) return;
      if (Date.now() > deadline) {
        throw new HermeticError('sandbox/lost', `The pod ${name} is deleted, but its node has not ended it in ${removalMs / 1000} s.`, {
          hint: 'Its node may be down: see kubectl get nodes.',
        });
      }
      await delay(backoffMs(tries, looks), undefined, { signal });
    }
  }

  async list(options: CallOptions = {}): Promise<readonly Pod[]> {
    return (await this.#api.list<Pod>(this.path, { labelSelector: this.selector }, options)).items;
  }

  /** Starts commands in a pod. */
  attachTo(name: string): Attach {
    return (command) => {
      const words = withoutClusterVariables(command).map((word): [string, string] => ['command', word]);
      const streams = ['stdin', 'stdout', 'stderr'].map((stream): [string, string] => [stream, 'true']);
      const query = new URLSearchParams([['container', containerName], ...streams, ...words]);
      return openExec(this.#api, `${this.#pathOf(name)}/exec?${query}`);
    };
  }

  #pathOf(name: string): string {
    return `${this.path}/${encodeURIComponent(name)}`;
  }
}
