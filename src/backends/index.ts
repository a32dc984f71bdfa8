import { bubblewrap } from './bubblewrap/index.ts';
import { daytona } from './daytona/index.ts';
import { docker } from './docker/index.ts';
import type { BackendDriver } from './driver.ts';
import { kubernetes } from './kubernetes/index.ts';
import { local } from './local.ts';
import { modal } from './modal/index.ts';
import { podman } from './podman/index.ts';
import { singularity } from './singularity/index.ts';
import { ssh } from './ssh/index.ts';
import { vercel } from './vercel/index.ts';

/** Every way of making sandboxes, in the order in which `auto` tries those that it may take. */
export const backendDrivers: readonly BackendDriver[] = [
  docker,
  bubblewrap,
  podman,
  singularity,
  kubernetes,
  modal,
  daytona,
  vercel,
  ssh,
  local,
];
