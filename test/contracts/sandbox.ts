import { describe } from 'vitest';
import type { TestEngine } from '../engines.ts';
import { stateContract } from './sandbox/state.ts';

/** Every promise of `src/core/sandbox.ts`, for any backend. */
export function sandboxContract(engine: TestEngine): void {
  describe('state between commands', () => stateContract(engine));
}
