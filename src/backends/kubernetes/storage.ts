import { HermeticError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../core/sandbox.ts';
import { refusedStatus } from '../refusal.ts';
import type { CallOptions, KubernetesApi } from './api.ts';
import { isOf, type KubernetesObject, labelNames, objectNameOf, referenceTo } from './objects.ts';
import type { KubernetesOptions } from './options.ts';

interface Volume {
  name: string;
  emptyDir?: { medium?: 'Memory'; sizeLimit?: string };
  persistentVolumeClaim?: { claimName: string };
}

interface VolumeMount {
  name: string;
  mountPath: string;
  subPath?: string;
}

export interface Storage {
  volumes: Volume[];
  volumeMounts: VolumeMount[];
}

export const workspaceInside = '/workspace';

/** In memory, as in every sandbox; the sizes are those of the product contract. */
const inMemory = [
  { name: 'tmp', mountPath: '/tmp', sizeLimit: '512Mi' },
  { name: 'var-tmp', mountPath: '/var/tmp', sizeLimit: '256Mi' },
  { name: 'run', mountPath: '/run', sizeLimit: '64Mi' },
];

/** A claim must have a size. */
const claimMb = 10 * 1024;

/** Whether the files of a sandbox outlive its pod. */
export function hasClaim({ persistent }: Pick<SandboxSpec, 'persistent'>, { kubernetes_storage: storage }: KubernetesOptions): boolean {
  return persistent && storage === 'claim';
}

/** Security: never a directory of a node. */
export function storageOf(spec: SandboxSpec, options: KubernetesOptions, home: string): Storage {
  const { diskMb } = spec.limits;
  const places = [
    { name: 'workspace', mountPath: workspaceInside },
    { name: 'home', mountPath: home },
  ];
  const memory = inMemory.map(({ name, sizeLimit }): Volume => ({ name, emptyDir: { medium: 'Memory', sizeLimit } }));
  const memoryMounts = inMemory.map(({ name, mountPath }): VolumeMount => ({ name, mountPath }));
  if (hasClaim(spec, options)) {
    const files: Volume = { name: 'files', persistentVolumeClaim: { claimName: objectNameOf(spec.name) } };
    const mounts = places.map(({ name, mountPath }): VolumeMount => ({ name: 'files', mountPath, subPath: name }));
    return { volumes: [files, ...memory], volumeMounts: [...mounts, ...memoryMounts] };
  }
  const limit = diskMb > 0 ? { sizeLimit: `${diskMb}Mi` } : {};
  return {
    volumes: [...places.map(({ name }): Volume => ({ name, emptyDir: limit })), ...memory],
    volumeMounts: [...places, ...memoryMounts],
  };
}

/** The volume claims of one namespace. */
export class Claims {
  readonly #api: KubernetesApi;
  readonly #installation: string;
  readonly #options: KubernetesOptions;
  readonly #path: string;

  constructor(api: KubernetesApi, installation: string, options: KubernetesOptions) {
    this.#api = api;
    this.#installation = installation;
    this.#options = options;
    this.#path = `/api/v1/namespaces/${encodeURIComponent(options.kubernetes_namespace)}/persistentvolumeclaims`;
  }

  /** Makes the claim of a sandbox, or finds it. Resolves with whether it is new. */
  async ensure({ name, limits }: Pick<SandboxSpec, 'name' | 'limits'>, options: CallOptions): Promise<boolean> {
    // Found first: a full quota refuses to make even one that is there.
    const known = await this.#find(name, options);
    if (known) return false;
    const { kubernetes_storage_class: storageClassName } = this.#options;
    const body = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: objectNameOf(name), labels: { [labelNames.installation]: this.#installation, [labelNames.name]: name } },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: `${limits.diskMb || claimMb}Mi` } },
        ...(storageClassName !== undefined && { storageClassName }),
      },
    };
    try {
      // Not with the signal: a server goes on making what its client has stopped waiting for.
      await this.#api.request('POST', this.#path, body);
    } catch (error) {
      if (refusedStatus(error) === 409 && (await this.#find(name, options))) return false;
      throw error;
    }
    return true;
  }

  async #find(name: string, options: CallOptions): Promise<KubernetesObject | undefined> {
    const path = `${this.#path}/${encodeURIComponent(objectNameOf(name))}`;
    const found = await this.#api.request<KubernetesObject>('GET', path, undefined, options).catch(undefinedIfMissing);
    // Security: files of another installation, or of another program, are never shown in a sandbox.
    if (found && !isOf(this.#installation, found)) {
      throw new HermeticError('sandbox/in-use', `A volume claim ${objectNameOf(name)} exists that this installation did not make.`, {
        hint: 'Remove it, or use another namespace (terminal.kubernetes_namespace).',
      });
    }
    return found;
  }

  /** Does nothing when there is none. */
  async remove(name: string): Promise<void> {
    const found = await this.#find(name, {});
    if (!found) return;
    const { uid } = referenceTo(found);
    const path = `${this.#path}/${encodeURIComponent(objectNameOf(name))}`;
    await this.#api.request('DELETE', path, { preconditions: { uid } }).catch(ignoreGone);
  }

  /** The names of sandboxes that have one. */
  async list(): Promise<string[]> {
    const labelSelector = `${labelNames.installation}=${this.#installation}`;
    const { items } = await this.#api.list<KubernetesObject>(this.#path, { labelSelector });
    return items.filter((item) => !item.metadata?.deletionTimestamp).flatMap(({ metadata }) => metadata?.labels?.[labelNames.name] ?? []);
  }
}

export function undefinedIfMissing(error: unknown): undefined {
  if (refusedStatus(error) !== 404) throw error;
}

/** 404: it is gone. 409: another one has its name, so that the one that was meant is gone. */
export function ignoreGone(error: unknown): undefined {
  const status = refusedStatus(error);
  if (status !== 404 && status !== 409) throw error;
}
