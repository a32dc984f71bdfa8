import type { Readable, Writable } from 'node:stream';
import type { KillSignal, TerminalSize } from '../core/sandbox.ts';
import type { EndRecord } from './end-channel.ts';

/**
 * How a shell comes to be:
 * `warm` waits for one command; `base` does too, and first reports the state it starts with; `terminal` runs its command at once on
 * a terminal; `lines` and `interactive` read commands themselves, from standard input or a person at a terminal.
 */
export type ShellMode = 'warm' | 'base' | 'terminal' | 'lines' | 'interactive';

/** A command for a shell. Bytes as latin1 text, one character a byte. */
export interface Call {
  script: string;
  sessionDirectory: string;
  directory: string;
  /** `empty`: standard input has ended before the command begins. */
  input: 'open' | 'empty';
  /** The state afterwards is not needed: printing it takes a good part of a short command's time. */
  stateless: boolean;
  variables: readonly string[];
  args: readonly string[];
}

/** In the order in which `guest/shell.bash` expects them. */
export function callFields({ script, sessionDirectory, directory, stateless, variables, args }: Call): string[] {
  return [script, sessionDirectory, directory, stateless ? 'stateless' : '', String(variables.length), ...variables, ...args];
}

export interface SpawnRequest {
  mode: ShellMode;
  /** Bash source that restores the session's state; empty when there is nothing to restore. */
  restore: string;
  /** For every mode but `warm` and `base`, which are told by `begin`. */
  call?: Call;
  terminal?: TerminalSize;
}

/** One bash inside the sandbox, used for one command. */
export interface Shell {
  /** The number by which the processes of its command are known inside. */
  readonly mark: string;
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  /** Hands the command to a waiting shell. `delta` is bash source that brings the restored state up to date. */
  begin(call: Call, delta: string): void;
  /** Standard input of the command, from `begin` on. */
  stdin(): Writable;
  closeStdin(): void;
  /** Resolves when every process the command started has the signal; with KILL, when they are dead. */
  kill(signal: KillSignal): Promise<void>;
  /** The host has read all it wants: background processes may go on printing into nothing. */
  release(): void;
}

export interface OutputPipe {
  readonly stream: Readable;
  /** Returns at once the unread content of the pipe. */
  drain(): Buffer[];
}

/** Receives the events of a shell. */
export interface ShellOwner {
  receive(record: EndRecord): void;
  lost(reason: string): void;
  forget(): void;
  kill(signal: KillSignal): Promise<void>;
}

/** Starts shells in one sandbox. */
export interface Spawner {
  /** Resolves when `spawn` is quick. */
  prepare(): Promise<void>;
  /** `receive` gets every record of this shell, in order; `lost` the reason when no more can come. */
  spawn(request: SpawnRequest, receive: (record: EndRecord) => void, lost: (reason: string) => void): Shell;
  /** Whether a process that any command started still runs. `waiting` is the mark of a shell that has no command yet. */
  hasLiveProcesses(waiting: string | undefined): Promise<boolean>;
  /** Kills every process that any command started. Rejects when one may have survived. */
  killAll(): Promise<void>;
  /** Resolves with the reason when the sandbox has ended. */
  readonly ended: Promise<string>;
}
