import type { OpenSandbox } from '../../core/sandbox.ts';
import { openShellSandbox, type Place } from '../shell-sandbox.ts';
import type { StateStore } from '../state-store.ts';
import { Attachment, type AttachmentPipes, makeAttachmentPipes } from './forker.ts';

/** A started forker. */
export interface Forker extends Place {
  /** Host path of the directory it has its pipes in. */
  runDirectory: string;
  /** When they are being made already. */
  pipes?: Promise<AttachmentPipes> | undefined;
}

/** A sandbox whose shells are started by a forker. When this throws, the forker has been ended. */
export function attachToForker(forker: Forker, store: StateStore, signal?: AbortSignal): Promise<OpenSandbox> {
  const { runDirectory, ended } = forker;
  const attach = async () => await Attachment.open(runDirectory, await (forker.pipes ?? makeAttachmentPipes(runDirectory)), ended, signal);
  return openShellSandbox(forker, store, attach, signal);
}
