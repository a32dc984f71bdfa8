import { backendDrivers } from '../backends/index.ts';

const kinds = backendDrivers.map(({ kind }) => kind);

/** Names that load and are refused when a sandbox is wanted. */
export const refusedBackends: readonly string[] = ['podman', 'ssh', 'singularity', 'modal', 'daytona', 'kubernetes', 'vercel'].filter(
  (name) => !kinds.includes(name),
);

export const backendNames: readonly string[] = ['auto', ...kinds.toReversed(), ...refusedBackends];
