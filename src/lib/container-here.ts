import { existsSync } from 'node:fs';
import { join } from 'node:path';

export type ContainerKind = 'docker' | 'podman' | 'kubernetes';

/** What runs the container in which this program is; undefined when it is in none, or in one of another kind. */
export function containerHere(root = '/'): ContainerKind | undefined {
  const has = (path: string): boolean => existsSync(join(root, path));
  if (has('var/run/secrets/kubernetes.io')) return 'kubernetes';
  if (has('run/.containerenv')) return 'podman';
  return has('.dockerenv') ? 'docker' : undefined;
}
