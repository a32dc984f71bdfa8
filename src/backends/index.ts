import { bubblewrap } from './bubblewrap/index.ts';
import { docker } from './docker/index.ts';
import type { BackendDriver } from './driver.ts';
import { kubernetes } from './kubernetes/index.ts';
import { local } from './local.ts';
import { podman } from './podman/index.ts';
import { ssh } from './ssh/index.ts';
import { vercel } from './vercel/index.ts';

/** Every way of making sandboxes, in the order in which `auto` tries those that it may take. */
export const backendDrivers: readonly BackendDriver[] = [docker, bubblewrap, podman, kubernetes, vercel, ssh, local];
