import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListedSandbox } from '../../core/sandbox.ts';
import { within } from '../../lib/deadline.ts';
import { targetText } from '../../lib/ssh/target.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { type ListedDirectory, pathsIn, removeSandboxDirectory } from '../sandbox-directory.ts';
import type { Directories } from './directories.ts';
import type { Machine } from './machine.ts';
import { formerTarget } from './recorded-target.ts';

interface Remote {
  machine: Machine;
  directories: Directories;
}

/** A list is not worth a long wait for a machine that does not answer. */
const listDeadlineMs = 5_000;
/** How long programs that have a sandbox open may take to end its processes. */
const endDeadlineMs = 15_000;

/** A sandbox that has a directory on this machine. */
export function listedRecord(record: ListedDirectory, reach: () => Remote): ListedSandbox {
  const paths = pathsIn(record.directory);
  const isOpen = (): boolean => liveAttachments(paths.run).length > 0;
  return {
    ...record,
    state: isOpen() ? 'running' : 'stopped',
    // One that runs is held by a living program, so it is not stopped from here.
    stop: async () => !isOpen(),
    destroy: async () => {
      // The programs that have it open notice, and end its processes.
      await rm(paths.record, { force: true });
      for (const deadline = Date.now() + endDeadlineMs; isOpen() && Date.now() < deadline; await sleep(20));
      const { machine, directories } = reach();
      const target = await formerTarget(record.directory);
      // The files of another machine can only be removed there.
      if (target === undefined || target === targetText(machine.target)) await machine.during(() => directories.remove(record.name));
      await removeSandboxDirectory(record.directory);
    },
  };
}

/**
 * Directories on the remote machine that belong to no record here: of sessions whose own directory is elsewhere, left by a crash, or when the machine
 * could not be reached.
 */
export async function listedRemains(reach: () => Remote, records: readonly ListedDirectory[]): Promise<ListedSandbox[]> {
  const { machine, directories } = reach();
  const listing = machine.during(() => directories.list());
  const names = await within(listDeadlineMs, listing, () => []).catch(() => []);
  const isKnown = (name: string): boolean => records.some((record) => record.name === name);
  return names
    .filter(({ name }) => !isKnown(name))
    .map(({ name, changedAt, hasFiles }) => ({
      name,
      session: '',
      state: 'stopped',
      image: undefined,
      createdAt: changedAt,
      directory: '',
      hasFiles,
      stop: async () => true,
      destroy: () => machine.during(() => directories.remove(name)),
    }));
}
