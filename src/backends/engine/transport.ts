import { release } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attach } from '../../shell/streams/attached-command.ts';
import type { EngineAddress } from './address.ts';
import type { Engine, EngineInfo } from './engine.ts';
import { type ExecStream, openExec } from './exec-stream.ts';

export interface Here {
  platform: NodeJS.Platform;
  kernel: string;
}

/** Programs whose containers are processes of the engine's own kernel. */
const nativeRuntimes = new Set(['runc', 'crun', 'youki', 'nvidia-container-runtime']);

/**
 * Whether a container of this engine runs on the same kernel as this program and sees the same directories: then its shells are started
 * by a forker over named pipes. Otherwise every shell is an exec of its own, reached by its streams.
 */
export function sharesKernel(address: EngineAddress, info: EngineInfo, runtime: string | undefined, here: Here = thisMachine()): boolean {
  return (
    here.platform === 'linux' &&
    address.kind === 'unix' &&
    !info.OperatingSystem.includes('Docker Desktop') &&
    info.KernelVersion === here.kernel &&
    nativeRuntimes.has(runtimeProgram(runtime, info))
  );
}

/** The name of the program that runs containers; undefined is the engine's own. */
export function runtimeProgram(runtime: string | undefined, { Runtimes: runtimes, DefaultRuntime: usual }: EngineInfo): string {
  const name = runtime ?? usual;
  return basename((runtimes?.[name] as { path?: string } | undefined)?.path ?? name);
}

export function thisMachine(): Here {
  return { platform: process.platform, kernel: release() };
}

/** Starts commands in a container, as its own user. */
export function attachTo(engine: Engine, container: string): Attach {
  return async (command) => {
    const exec = await openExec(engine, container, { command });
    return { ...exec, exitCode: () => exitCodeOf(exec) };
  };
}

/** Of a command whose streams have ended. The engine may see that a moment before the end of the process. */
async function exitCodeOf(exec: ExecStream): Promise<number | undefined> {
  for (let attempt = 0; attempt < 40; attempt++) {
    const state = await exec.inspect();
    if (!state.running) return state.exitCode;
    await sleep(25);
  }
  return undefined;
}
