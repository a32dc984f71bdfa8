import { describe } from 'vitest';
import type { TestEngine } from '../engines.ts';
import { aftermathContract } from './sandbox/aftermath.ts';
import { backgroundContract } from './sandbox/background.ts';
import { directoryContract } from './sandbox/directory.ts';
import { exitsContract } from './sandbox/exits.ts';
import { filesContract } from './sandbox/files.ts';
import { functionsContract } from './sandbox/functions.ts';
import { killContract } from './sandbox/kill.ts';
import { lifecycleContract } from './sandbox/lifecycle.ts';
import { memoryContract } from './sandbox/memory.ts';
import { scriptsContract } from './sandbox/scripts.ts';
import { streamsContract } from './sandbox/streams.ts';
import { terminalContract } from './sandbox/terminal.ts';
import { troublesContract } from './sandbox/troubles.ts';
import { variablesContract } from './sandbox/variables.ts';

/** Every promise of `src/core/sandbox.ts`, for any backend. */
export function sandboxContract(engine: TestEngine): void {
  describe('variables', () => variablesContract(engine));
  describe('functions, aliases and options', () => functionsContract(engine));
  describe('the directory', () => directoryContract(engine));
  describe('the state after a command that does not simply end', () => aftermathContract(engine));
  describe('the streams of a command', () => streamsContract(engine));
  describe('a background process', () => backgroundContract(engine));
  describe('a kill', () => killContract(engine));
  describe('a script', () => scriptsContract(engine));
  describe('a terminal', () => terminalContract(engine));
  describe('files', () => filesContract(engine));
  describe('the exit', () => exitsContract(engine));
  describe('a sandbox', () => lifecycleContract(engine));
  describe('troubles', () => troublesContract(engine));
  describe('the memory', () => memoryContract(engine));
}
