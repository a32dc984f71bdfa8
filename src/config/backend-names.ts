import { backendDrivers } from '../backends/index.ts';

export const backendNames: readonly string[] = ['auto', ...backendDrivers.map(({ kind }) => kind).toReversed()];
