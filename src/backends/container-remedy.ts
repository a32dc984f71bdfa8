import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ContainerKind, containerHere } from '../lib/container-here.ts';

/** In the package; it is read where the container is started. */
const profile = 'deploy/container/seccomp.json';

const common = '--user 1000:1000 --cap-drop ALL --security-opt no-new-privileges';
const appArmor = ' --security-opt apparmor=unconfined';
const where = `The profile is ${profile} of the package; docs/container.md says what this gives up.`;

const remedies: Readonly<Record<ContainerKind, (hasAppArmor: boolean) => string>> = {
  docker: (hasAppArmor) =>
    `Start the container with: docker run ${common} --security-opt seccomp=${profile} --security-opt systempaths=unconfined${hasAppArmor ? appArmor : ''}. ${where}`,
  podman: (hasAppArmor) =>
    `Start the container with: podman run ${common} --security-opt seccomp=${profile} --security-opt unmask=ALL${hasAppArmor ? appArmor : ''}. ${where}`,
  kubernetes: () =>
    `Set terminal.backend to kubernetes; or give the pod hostUsers: false, and the container runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, procMount: Unmasked and a seccompProfile of type Localhost. ${where}`,
};

/**
 * How to start the container that this program is in, so that sandboxes can be made there; undefined when it is in
 * none.
 */
export function containerRemedy(root = '/'): string | undefined {
  const kind = containerHere(root);
  return kind && remedies[kind](hasAppArmor(root));
}

function hasAppArmor(root: string): boolean {
  try {
    return readFileSync(join(root, 'sys/module/apparmor/parameters/enabled'), 'utf8').trim() === 'Y';
  } catch {
    return false;
  }
}
