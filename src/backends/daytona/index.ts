import { join } from 'node:path';
import type { Enforcement } from '../../core/sandbox.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { CloudBackend } from '../cloud/backend.ts';
import type { BackendContext } from '../context.ts';
import type { BackendDriver } from '../driver.ts';
import { DaytonaApi } from './api.ts';
import { type DaytonaOptions, daytonaOptions } from './options.ts';
import { DaytonaProvider } from './provider.ts';

const enforcement: Enforcement = {
  cpus: { enforced: true, how: 'by Daytona, in whole CPUs' },
  memoryMb: { enforced: true, how: 'by Daytona, in whole GiB' },
  diskMb: { enforced: true, how: 'by the size of the disk at Daytona, in whole GiB and at most terminal.daytona_max_disk' },
  pids: { enforced: false, how: 'Daytona does not limit the number of processes' },
};

export const daytona: BackendDriver<typeof daytonaOptions> = {
  kind: 'daytona',
  summary: 'A sandbox of any image at Daytona, or on a Daytona of your own, kept for the session.',
  options: daytonaOptions,
  image: ({ daytona_image: image }) => image,
  create: (context, options) => {
    const { daytona_image: image, ...others } = options;
    const target = options.daytona_target ?? (context.environment.DAYTONA_TARGET || undefined);
    return new CloudBackend(context, {
      kind: 'daytona',
      product: 'Daytona',
      image,
      settings: [canonicalJson({ ...others, daytona_target: target })],
      provider: new DaytonaProvider(new DaytonaApi(context), { options, target, hostKeys: hostKeysOf(context, options) }),
      enforcement,
      installing:
        'You are root in it: packages can be installed with the package manager of the image (apt-get, apk), pip or npm, where the image has them. They are kept as long as the sandbox is.',
      honours: { image: true, 'network-none': true },
    });
  },
};

/** Security: the gateway could read and change all that is sent to a sandbox, so a key that has changed is never accepted. */
function hostKeysOf(
  { sandboxesDirectory }: BackendContext,
  { daytona_known_hosts: path }: DaytonaOptions,
): { path: string; acceptNew: boolean } {
  return { path: path ?? join(sandboxesDirectory, 'daytona-known-hosts'), acceptNew: path === undefined };
}
