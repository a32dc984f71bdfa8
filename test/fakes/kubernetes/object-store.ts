import { randomUUID } from 'node:crypto';
import { type FakeObject, Refusal } from './objects.ts';

export interface StoredEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  version: number;
  /** As JSON: a watcher sees the object of that moment. */
  object: string;
}

/** Objects of one resource with their versions, and what happened to them. */
export class ObjectStore {
  readonly resource: string;
  readonly #objects = new Map<string, FakeObject>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  #history: StoredEvent[] = [];
  #version = 1000;
  /** Events up to here are forgotten. */
  #forgotten = 0;

  constructor(resource: string) {
    this.resource = resource;
  }

  get version(): number {
    return this.#version;
  }

  add(namespace: string, body: FakeObject): FakeObject {
    const { name } = body.metadata;
    if (this.#objects.has(name)) throw new Refusal(409, 'AlreadyExists', `${this.resource} "${name}" already exists`);
    const times = { namespace, uid: randomUUID(), resourceVersion: '', creationTimestamp: new Date().toISOString() };
    const object: FakeObject = { ...body, metadata: { ...body.metadata, ...times }, status: { phase: 'Pending' } };
    this.#objects.set(name, object);
    this.#tell('ADDED', object);
    return object;
  }

  find(name: string): FakeObject | undefined {
    return this.#objects.get(name);
  }

  get(name: string): FakeObject {
    const found = this.#objects.get(name);
    if (!found) throw new Refusal(404, 'NotFound', `${this.resource} "${name}" not found`);
    return found;
  }

  all(): FakeObject[] {
    return [...this.#objects.values()];
  }

  list(selector: string | null): FakeObject[] {
    const wanted = (selector ?? '')
      .split(',')
      .filter(Boolean)
      .map((pair) => pair.split('='));
    return this.all().filter(({ metadata }) => wanted.every(([key = '', value]) => metadata.labels?.[key] === value));
  }

  change(object: FakeObject, status: Record<string, unknown>): void {
    if (this.#objects.get(object.metadata.name) !== object) return;
    object.status = { ...object.status, ...status };
    this.#tell('MODIFIED', object);
  }

  remove(object: FakeObject): void {
    if (this.#objects.get(object.metadata.name) !== object) return;
    this.#objects.delete(object.metadata.name);
    this.#tell('DELETED', object);
  }

  #tell(type: StoredEvent['type'], object: FakeObject): void {
    this.#version += 1;
    object.metadata.resourceVersion = String(this.#version);
    const event = { type, version: this.#version, object: JSON.stringify(object) };
    this.#history.push(event);
    for (const listener of this.#listeners) listener(event);
  }

  /** As a cluster does after a while: no client can watch from an earlier version any more. */
  forgetHistory(): void {
    this.#history = [];
    this.#version += 1;
    this.#forgotten = this.#version;
  }

  /** What happened since, or undefined when that is forgotten. */
  since(version: number): StoredEvent[] | undefined {
    return version < this.#forgotten ? undefined : this.#history.filter((event) => event.version > version);
  }

  listen(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
