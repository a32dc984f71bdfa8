import type { ChildProcess } from 'node:child_process';

/**
 * The child, or throws when it could not be started. Node tells that later, by an event that ends the program when it has no listener, and where
 * no file can be opened any more it leaves out the streams.
 */
export function started<Child extends ChildProcess>(child: Child): Child & { pid: number } {
  child.on('error', () => undefined);
  if (child.pid === undefined) {
    throw new Error(`${child.spawnfile} could not be started: it is missing, or there are too many processes or open files.`);
  }
  return child as Child & { pid: number };
}
