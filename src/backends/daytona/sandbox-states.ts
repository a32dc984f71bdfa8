import type { SandboxState } from '@daytona/api-client';
import type { CloudState } from '../cloud/provider.ts';

/** Where a sandbox is in its life. `doubt`: Daytona itself does not know, or it is a state of a newer version. */
export type Phase = 'coming' | 'running' | 'stopping' | 'stopped' | 'broken' | 'failed' | 'going' | 'gone' | 'doubt';

const phases: Readonly<Record<Exclude<SandboxState, '11184809'>, Phase>> = {
  pending_build: 'coming',
  building_snapshot: 'coming',
  pulling_snapshot: 'coming',
  creating: 'coming',
  starting: 'coming',
  restoring: 'coming',
  resuming: 'coming',
  started: 'running',
  resizing: 'running',
  snapshotting: 'running',
  forking: 'running',
  stopping: 'stopping',
  archiving: 'stopping',
  pausing: 'stopping',
  stopped: 'stopped',
  archived: 'stopped',
  paused: 'stopped',
  // Its files may be there.
  error: 'broken',
  // It never had any.
  build_failed: 'failed',
  destroying: 'going',
  destroyed: 'gone',
  unknown: 'doubt',
};

export function phaseOf(state: string, desiredState: string | undefined): Phase {
  const phase = Object.hasOwn(phases, state) ? phases[state as keyof typeof phases] : 'doubt';
  if (desiredState === 'destroyed' && phase !== 'gone') return 'going';
  if (phase === 'running' && (desiredState === 'stopped' || desiredState === 'archived')) return 'stopping';
  return phase;
}

/** undefined when it cannot be said. */
export function cloudStateOf(phase: Phase): CloudState | undefined {
  switch (phase) {
    case 'coming':
    case 'running':
      return 'running';
    case 'stopping':
    case 'stopped':
    case 'broken':
      return 'stopped';
    case 'failed':
    case 'going':
    case 'gone':
      return 'gone';
    case 'doubt':
      return undefined;
  }
}

/** What Daytona does while a sandbox is not there yet, for people. */
export function progressText(state: string, image: string): string | undefined {
  switch (state) {
    case 'pending_build':
    case 'building_snapshot':
      return `Daytona builds a snapshot of ${image}.`;
    case 'pulling_snapshot':
      return `Daytona fetches the snapshot of ${image}.`;
    case 'restoring':
      return 'Daytona brings the sandbox back from its archive, which takes minutes.';
    case 'creating':
    case 'starting':
    case 'resuming':
      return 'Daytona starts the sandbox.';
    default:
      return undefined;
  }
}
