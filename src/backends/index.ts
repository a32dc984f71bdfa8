import type { Driver } from '../core/driver.ts';
import type { Backend } from '../core/sandbox.ts';
import { bubblewrap } from './bubblewrap/index.ts';
import type { BackendContext } from './context.ts';
import { docker } from './docker/index.ts';
import { local } from './local.ts';

/** Every way of making sandboxes. */
export const backendDrivers: readonly Driver<BackendContext, Backend>[] = [docker, bubblewrap, local];

/** The backends that `auto` tries, best first. Never one without isolation. */
export const automaticKinds: readonly string[] = ['docker', 'bubblewrap'];
