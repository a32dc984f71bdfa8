import type { OpenSandbox } from '../../core/sandbox.ts';
import { openShellSandbox, type Place } from '../shell-sandbox.ts';
import type { StateStore } from '../state-store.ts';
import type { Attach } from './attached-command.ts';
import { StreamSpawner } from './stream-spawner.ts';

/** A place with which nothing is shared; commands in it are reached by their streams. */
export interface RemotePlace extends Place {
  attach: Attach;
  /** The processes of our commands that outlive this process. */
  keep: 'background' | 'nothing';
  /** Which processes are seen there: those of the sandbox only, or those of a machine. */
  processes: 'own' | 'shared';
}

/** A sandbox each of whose shells is a command of its own. When this throws, the place has been ended. */
export function attachByStreams(place: RemotePlace, store: StateStore, signal?: AbortSignal): Promise<OpenSandbox> {
  return openShellSandbox(place, store, () => StreamSpawner.start(place), signal);
}
