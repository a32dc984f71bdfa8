import type { TurnInput } from '../core/agent.ts';
import type { Channel, IncomingFile } from '../core/channel.ts';
import { errorText } from '../lib/error-text.ts';
import { fenced } from './fenced.ts';
import type { Work } from './work.ts';

const mostBytes = 20 * 1024 * 1024;
/** What models that see can look at. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
const mostImageBytes = 5 * 1024 * 1024;

/** Brings what somebody sent into the sandbox. What cannot be brought is named with the reason, so that nobody looks for it. */
export async function incomingFiles(
  sent: readonly IncomingFile[],
  channel: Channel,
  work: Work,
): Promise<Pick<TurnInput, 'files' | 'images'>> {
  if (sent.length === 0) return {};
  const files: { path: string; bytes: number | undefined }[] = [];
  const images: { data: Uint8Array; mediaType: string }[] = [];
  for (const file of sent) {
    try {
      const data = await channel.fetchFile(file, mostBytes);
      files.push({ path: await work.put(file.name, data), bytes: data.length });
      if (imageTypes.has(file.mimeType ?? '') && data.length <= mostImageBytes) images.push({ data, mediaType: file.mimeType ?? '' });
    } catch (error) {
      files.push({ path: `(${file.name} could not be fetched: ${errorText(error)})`, bytes: file.bytes });
    }
  }
  return { files, images };
}

/** For whoever sent them; nothing when there were none. */
export function whereFilesAre(files: TurnInput['files'] = []): string {
  if (files.length === 0) return '';
  return `Your files are here:\n${fenced(files.map(({ path }) => path).join('\n'))}\n`;
}

/** For whoever sent them along with something that has no use for them. */
export function leftOut({ length }: readonly IncomingFile[], command: string): string {
  if (length === 0) return '';
  return length === 1 ? `\nThe file was ignored. Send it without /${command}.` : `\nThe files were ignored. Send them without /${command}.`;
}
