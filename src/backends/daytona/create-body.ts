import { randomBytes } from 'node:crypto';
import type { CreateSandbox } from '@daytona/api-client';
import type { Limits } from '../../core/sandbox.ts';
import type { CloudWish } from '../cloud/provider.ts';
import { parseImageReference } from '../engine/image-reference.ts';
import type { DaytonaOptions } from './options.ts';

/** Absolute paths inside, made by the Dockerfile below. */
export const home = '/root';
export const workspace = '/workspace';

const minutesOfDay = 24 * 60;
/** Security: an ephemeral sandbox is destroyed so long after it was made, in any case. */
const ephemeralTtlMinutes = 7 * minutesOfDay;

/** What Daytona is asked to make. Its name is used once, so that one whose making was not answered can be found and removed. */
export function createBody(
  { spec, labels }: CloudWish,
  options: DaytonaOptions,
  target: string | undefined,
): CreateSandbox & { name: string } {
  return {
    name: `hermetic-${spec.name}-${randomBytes(6).toString('hex')}`,
    buildInfo: { dockerfileContent: dockerfile(spec.image ?? options.daytona_image) },
    labels: { ...labels },
    public: false,
    // Security: never 0, which means that it is never stopped.
    autoStopInterval: Math.max(1, Math.floor(spec.idleSeconds / 60)),
    ...(spec.persistent
      ? {
          autoDeleteInterval: options.daytona_keep_days * minutesOfDay,
          autoArchiveInterval: options.daytona_archive_days * minutesOfDay,
        }
      : { autoDeleteInterval: 0, ttlMinutes: ephemeralTtlMinutes }),
    ...sizes(spec.limits, options),
    ...(spec.network === 'none' && { networkBlockAll: true }),
    ...(target !== undefined && { target }),
  };
}

/** Whole CPUs and GiB are all that is sold. What is not given is Daytona's own default. */
function sizes(
  { cpus, memoryMb, diskMb }: Limits,
  { daytona_max_disk: maxDisk }: DaytonaOptions,
): Pick<CreateSandbox, 'cpu' | 'memory' | 'disk'> {
  const wholeGiB = (megabytes: number): number => Math.ceil(megabytes / 1024);
  return {
    ...(cpus > 0 && { cpu: Math.ceil(cpus) }),
    ...(memoryMb > 0 && { memory: wholeGiB(memoryMb) }),
    ...(diskMb > 0 && { disk: Math.min(wholeGiB(diskMb), maxDisk) }),
  };
}

/**
 * The same text is built once and kept as a snapshot by Daytona. The user is root, and both directories are made. The program of the image is not
 * started. Security: the reference cannot contain another line.
 */
function dockerfile(image: string): string {
  const { text } = parseImageReference(image);
  return `FROM ${text}\nUSER root\nENV HOME=${home}\nWORKDIR ${home}\nWORKDIR ${workspace}\nENTRYPOINT ["sleep", "infinity"]\nCMD []\n`;
}
