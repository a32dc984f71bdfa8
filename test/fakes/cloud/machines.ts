import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeNode, type NodePod } from '../kubernetes/node.ts';
import type { FakeObject, FakePodSpec } from '../kubernetes/objects.ts';

export interface MachineWishes {
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
  memoryMb?: number;
  /** Directories inside whose files stay with the disk: the place for work and the home of the user. */
  kept: readonly string[];
  /** undefined: root. */
  user?: number;
}

/** The machines of a fake provider: each is a bubblewrap on this one, with a disk that outlives it. Needs root. */
export class FakeMachines {
  readonly #directory = mkdtempSync(join(tmpdir(), 'hermetic-fake-cloud-'));
  readonly #node: FakeNode;

  /** With so many processes in one machine, or as many as in a pod. */
  constructor(maxPids?: number) {
    this.#node = new FakeNode(this.#directory, maxPids);
  }

  /** An empty disk, or a copy of another one. */
  makeDisk(from?: string): string {
    const disk = join(this.#directory, 'disks', randomUUID());
    mkdirSync(disk, { recursive: true });
    if (from !== undefined) cpSync(from, disk, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    return disk;
  }

  removeDisk(disk: string): void {
    rmSync(disk, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Resolves when its first process runs. */
  start(disk: string, { command, env = {}, memoryMb = 0, kept, user = 0 }: MachineWishes): Promise<NodePod> {
    const spec: FakePodSpec = {
      containers: [
        {
          name: 'machine',
          image: '',
          command: command.map((word) => word.replaceAll('$', '$$$$')),
          env: Object.entries(env).map(([name, value]) => ({ name, value: value.replaceAll('$', '$$$$') })),
          securityContext: {
            runAsUser: user,
            runAsGroup: user,
            runAsNonRoot: user !== 0,
            privileged: false,
            allowPrivilegeEscalation: false,
            capabilities: { add: user === 0 ? ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID', 'KILL'] : [] },
          },
          resources: memoryMb > 0 ? { limits: { memory: `${memoryMb}Mi` } } : {},
          volumeMounts: [
            { name: 'tmp', mountPath: '/tmp' },
            ...kept.map((mountPath, index) => ({ name: 'disk', mountPath, subPath: String(index) })),
          ],
        },
      ],
      volumes: [
        { name: 'tmp', emptyDir: {} },
        { name: 'disk', persistentVolumeClaim: { claimName: 'disk' } },
      ],
      securityContext: {},
      terminationGracePeriodSeconds: 0,
    };
    const uid = randomUUID();
    const metadata = { name: uid, namespace: '', uid, resourceVersion: '', creationTimestamp: '' };
    const pod: FakeObject = { apiVersion: '', kind: 'Pod', metadata, spec: { ...spec }, status: {} };
    return this.#node.start(pod, new Map([['disk', disk]]));
  }

  /** Removes every disk. The machines are ended by those who started them. */
  close(): void {
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
