import { unwatchFile, watchFile } from 'node:fs';
import type { OpenSandbox, SandboxSpec } from '../../core/sandbox.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { claim } from '../../shell/pipes/attachments.ts';
import { fileStateStore, memoryStateStore } from '../../shell/state-store.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import { attachByStreams } from '../../shell/streams/stream-spawner.ts';
import { pathsIn } from '../sandbox-directory.ts';
import { explained } from './errors.ts';
import type { Machine } from './machine.ts';

const watchMs = 300;
/** How long the processes of a sandbox that has ended may take to be dead. */
const endDeadlineMs = 10_000;

export interface RemoteSandbox {
  machine: Machine;
  spec: SandboxSpec;
  workdir: string;
  /** Removes the files of the sandbox, on both machines. */
  removeFiles(): Promise<void>;
}

/** Shells on a remote machine as a sandbox. It survives its connections, and ends with this program or when its record is removed. */
export async function attachToMachine(
  { machine, spec, workdir, removeFiles }: RemoteSandbox,
  signal: AbortSignal | undefined,
): Promise<OpenSandbox> {
  const paths = pathsIn(spec.directory);
  const ended = Promise.withResolvers<string>();
  const running = new Set<Promise<void>>();
  const release = machine.hold();
  const claimed = claim(paths.run);
  let finishing: Promise<void> | undefined;
  const attach: Attach = async (command) => {
    const started = await explained(machine.start(command, spec.env));
    const { closed } = started;
    running.add(closed);
    void closed.then(() => running.delete(closed));
    const destroy = (): void => {
      // What is left of it ends with the tether, which is not let go of before the end.
      if (!finishing) running.delete(closed);
      started.destroy();
    };
    return { ...started, destroy };
  };
  /** Another program destroys the sandbox by removing its record first. */
  const look = ({ nlink }: { nlink: number }): void => {
    if (nlink === 0) ended.resolve('it was removed');
  };
  watchFile(paths.record, { interval: watchMs, persistent: false }, look);
  /** The tether kills what is left, and everything that we started ends after it. */
  const finish = (): Promise<void> => {
    finishing ??= (async () => {
      unwatchFile(paths.record, look);
      while (running.size > 0 && (await settlesWithin(endDeadlineMs, Promise.all(running))));
      claimed.release();
    })();
    return finishing;
  };
  void ended.promise.then(finish).then(release);
  const close = async (): Promise<void> => {
    await finish();
    try {
      if (!spec.persistent) await removeFiles();
    } finally {
      ended.resolve('it was closed');
      release();
    }
  };
  const end = async (): Promise<void> => {
    ended.resolve('it was ended');
    await close();
  };
  const destroy = (): Promise<void> => machine.during(removeFiles);
  const store = spec.persistent ? fileStateStore(paths.state) : memoryStateStore();
  const place = { name: spec.name, workdir, limits: undefined, ended: ended.promise, end, close, stop: close, destroy };
  return await attachByStreams({ ...place, attach, keep: 'nothing', processes: 'shared' }, store, signal);
}
