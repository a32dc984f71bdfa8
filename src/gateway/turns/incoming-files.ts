import type { TurnInput } from '../../core/agent.ts';
import { type Channel, type IncomingFile, maxCarriedBytes } from '../../core/channel.ts';
import { errorText } from '../../lib/error-text.ts';
import { fenced } from '../../lib/fenced.ts';
import type { SessionTools } from '../deps.ts';

/** The types that models with vision take. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
const maxImageBytes = 5 * 1024 * 1024;

/** Copies the files of a message into the sandbox. A file that cannot be copied is named with the reason. */
export async function incomingFiles(
  sent: readonly IncomingFile[],
  channel: Channel,
  tools: SessionTools,
): Promise<Pick<TurnInput, 'files' | 'images'>> {
  const files: { path: string; bytes: number | undefined }[] = [];
  const images: { data: Uint8Array; mediaType: string }[] = [];
  for (const file of sent) {
    try {
      const data = await channel.fetchFile(file, maxCarriedBytes);
      files.push({ path: await tools.put(file.name, data), bytes: data.length });
      if (imageTypes.has(file.mimeType ?? '') && data.length <= maxImageBytes) images.push({ data, mediaType: file.mimeType ?? '' });
    } catch (error) {
      files.push({ path: `(${file.name} could not be fetched: ${errorText(error)})`, bytes: file.bytes });
    }
  }
  return { files, images };
}

/** For the person who sent them; empty when there were none. */
export function whereFilesAre(files: TurnInput['files'] = []): string {
  if (files.length === 0) return '';
  return `Your files are here:\n${fenced(files.map(({ path }) => path).join('\n'))}\n`;
}

/** For the person who sent files along with a command that ignores them. */
export function leftOut({ length }: readonly IncomingFile[], command: string, sign = '/'): string {
  if (length === 0) return '';
  return length === 1
    ? `\nThe file was ignored. Send it without ${sign}${command}.`
    : `\nThe files were ignored. Send them without ${sign}${command}.`;
}
