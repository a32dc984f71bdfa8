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
  describe('the working directory', () => directoryContract(engine));
  describe('the state after a command is cut short', () => aftermathContract(engine));
  describe('the streams of a command', () => streamsContract(engine));
  describe('background processes', () => backgroundContract(engine));
  describe('killing commands', () => killContract(engine));
  describe('scripts', () => scriptsContract(engine));
  describe('terminals', () => terminalContract(engine));
  describe('files', () => filesContract(engine));
  describe('exit codes', () => exitsContract(engine));
  describe('the lifecycle of a sandbox', () => lifecycleContract(engine));
  describe('resource limits', () => troublesContract(engine));
  describe('host memory', () => memoryContract(engine));
}
