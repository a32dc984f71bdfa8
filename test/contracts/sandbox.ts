import { describe } from 'vitest';
import type { TestEngine } from '../engines.ts';
import { exitsContract } from './sandbox/exits.ts';
import { stateContract } from './sandbox/state.ts';
import { streamsContract } from './sandbox/streams.ts';

/** Every promise of `src/core/sandbox.ts`, for any backend. */
export function sandboxContract(engine: TestEngine): void {
  describe('the state between commands', () => stateContract(engine));
  describe('the streams of a command', () => streamsContract(engine));
  describe('the exit', () => exitsContract(engine));
}
