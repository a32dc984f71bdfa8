import { setTimeout as sleep } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import type { CloudProgress } from '../cloud/provider.ts';
import type { ModalAccess } from './access.ts';

const answerMs = 30_000;
/** Modal fetches an image once, and keeps it. */
const buildMs = 20 * 60_000;
/** So long the server may take for an answer, after which it is asked again. */
const joinSeconds = 55;
const askAgainMs = 1_000;
const success = 1;
const maxLogCharacters = 300;

/** Has Modal fetch an image of a registry, and resolves with the id that it has there. */
export async function imageIdOf(access: ModalAccess, appId: string, name: string, { progress, signal }: CloudProgress): Promise<string> {
  // Security: the name becomes a line of a Dockerfile, and its next line would run outside of any sandbox.
  if (/[\s\\]/.test(name)) throw new HermeticError('sandbox/no-image', `${JSON.stringify(printable(name))} is not the name of an image.`);
  const { imageId, result } = await access.call({ ms: answerMs, signal }, async ({ cpClient }, ending) => {
    const { metadata } = await cpClient.environmentGetOrCreate({ deploymentName: access.environmentName }, { signal: ending });
    return await cpClient.imageGetOrCreate(
      {
        appId,
        image: { dockerfileCommands: [`FROM ${name}`] },
        builderVersion: metadata?.settings?.imageBuilderVersion ?? '',
      },
      { signal: ending },
    );
  });
  if (result?.status) return builtOrThrow(imageId, name, result, '');
  progress(`Modal fetches the image ${name}`);
  return await access.call({ ms: buildMs, signal }, async ({ cpClient }, ending) => {
    let lastEntryId = '';
    let lastLog = '';
    for (;;) {
      for await (const item of cpClient.imageJoinStreaming({ imageId, timeout: joinSeconds, lastEntryId }, { signal: ending })) {
        lastEntryId = item.entryId || lastEntryId;
        for (const { data } of item.taskLogs) lastLog = printable(data).slice(-maxLogCharacters) || lastLog;
        if (item.result?.status) return builtOrThrow(imageId, name, item.result, lastLog);
      }
      await sleep(askAgainMs, undefined, { signal: ending });
    }
  });
}

function builtOrThrow(imageId: string, name: string, result: { status: number; exception: string }, lastLog: string): string {
  if (result.status === success && imageId) return imageId;
  const why = printable(result.exception).slice(0, maxLogCharacters) || lastLog || `status ${result.status}`;
  throw new HermeticError('sandbox/no-image', `Modal cannot fetch the image ${name}: ${why}`, {
    hint: 'Is this the name of a public image? Change terminal.modal_image.',
  });
}
