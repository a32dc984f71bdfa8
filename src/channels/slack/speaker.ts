import type { IncomingFile, IncomingPress, Outgoing, OutgoingFile, Place } from '../../core/channel.ts';
import { pause } from '../../lib/pause.ts';
import { safeFileName } from '../file-name.ts';
import type { CallOptions } from './client.ts';
import { escaped } from './entities.ts';
import { failureOf, refused, SlackCallError } from './failures.ts';
import { channelId, fileId, givenId, isId, messageId, userOf } from './ids.ts';
import { maxFileBytes, maxIncomingBytes } from './limits.ts';
import { filePlaceOf, listOf, recordOf } from './parse.ts';
import { format } from './rich-text.ts';
import type { Workspace, Workspaces } from './workspaces.ts';

const uploadMs = 300_000;
/** A notice is not worth waiting for. */
const politenessMs = 5_000;
const maxLabel = 75;
/** Slack says where a file was shared some time after it took it. */
const sharePauses: readonly number[] = [0, 250, 500, 1000, 2000, 4000];
/** Before the id of a file whose message is not known. */
const filePrefix = 'file:';

/** Security: nothing that a model writes rings for anybody, or has Slack fetch an address. */
const silence = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false } as const;

/** Sends, edits and answers in conversations. */
export class Speaker {
  readonly #workspaces: Workspaces;

  constructor(workspaces: Workspaces) {
    this.#workspaces = workspaces;
  }

  async send(place: Place, message: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    const { file, buttons = [] } = message;
    if (file && file.data.length > maxFileBytes) throw refused(`The file is larger than ${maxFileBytes} bytes.`);
    const where = whereOf(place);
    const workspace = await this.#workspaces.of(place.workspace, signal);
    // A file has no buttons.
    if (file && buttons.length === 0) return await this.#sendFile(workspace, where, message.text, file, { signal });
    if (file) await this.#sendFile(workspace, where, '', file, { signal });
    try {
      const { ts } = await eitherWay((isPlain) => {
        const given = { ...where, ...contentOf(message, isPlain), ...silence };
        return workspace.client.call<{ ts?: unknown }>('chat.postMessage', given, { signal });
      });
      return givenId(ts, messageId);
    } catch (error) {
      throw failureOf(error, false);
    }
  }

  async edit(place: Place, id: string, message: Outgoing, signal: AbortSignal | undefined): Promise<void> {
    const { channel } = whereOf(place);
    const ts = givenId(id, messageId);
    const { parse, link_names } = silence;
    const workspace = await this.#workspaces.of(place.workspace, signal);
    try {
      await eitherWay((isPlain) => {
        const given = { channel, ts, ...contentOf(message, isPlain), parse, link_names };
        return workspace.client.call('chat.update', given, { signal });
      });
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  async remove(place: Place, id: string, signal: AbortSignal | undefined): Promise<void> {
    const { channel } = whereOf(place);
    const file = id.startsWith(filePrefix) ? givenId(id.slice(filePrefix.length), fileId) : undefined;
    const given = file === undefined ? { channel, ts: givenId(id, messageId) } : { file };
    const workspace = await this.#workspaces.of(place.workspace, signal);
    try {
      await workspace.client.call(file === undefined ? 'chat.delete' : 'files.delete', given, { signal });
    } catch (error) {
      const isGone = error instanceof SlackCallError && /^(message|file)_(not_found|deleted)$/.test(error.code);
      if (!isGone) throw failureOf(error, true);
    }
  }

  /** Only the person who pressed sees it. Never rejects. */
  async noticed({ place, from }: IncomingPress, text: string | undefined): Promise<void> {
    if (text === undefined) return;
    try {
      const workspace = await this.#workspaces.of(place.workspace);
      const given = { ...whereOf(place), user: userOf(from.id), text: escaped(text.slice(0, 200).toWellFormed()), ...silence };
      await workspace.client.call('chat.postEphemeral', given, { timeoutMs: politenessMs });
    } catch {
      // What was pressed counts all the same.
      return;
    }
  }

  async fetchFile({ id, bytes }: IncomingFile, maxBytes: number): Promise<Buffer> {
    const max = Math.min(maxBytes, maxIncomingBytes);
    if (bytes !== undefined && bytes > max) throw refused(`The file is larger than ${max} bytes.`);
    const where = filePlaceOf(id);
    if (!where) throw refused('This is not a file of Slack.');
    const { client } = await this.#workspaces.of(where.team);
    try {
      // Not where the message said that it is: what is asked for now is what may be had now.
      const answer = await client.call<{ file?: unknown }>('files.info', { file: where.file });
      const { url_private_download: download, url_private: address, is_external: isExternal } = recordOf(answer.file);
      const found = [download, address].find((one) => typeof one === 'string' && one !== '') as string | undefined;
      if (found === undefined || isExternal === true) throw refused('Slack does not have this file.');
      return await client.download(found, max);
    } catch (error) {
      throw failureOf(error, true);
    }
  }

  /** Until Slack is asked to show it nothing is seen, so everything before may be tried again. */
  async #sendFile(workspace: Workspace, where: Where, text: string, file: OutgoingFile, { signal }: CallOptions): Promise<string> {
    const { client } = workspace;
    const name = safeFileName(file.name).toWellFormed();
    const wanted = { filename: name, length: file.data.length };
    let id: string;
    try {
      const answer = await client.call<{ upload_url?: unknown; file_id?: unknown }>('files.getUploadURLExternal', wanted, { signal });
      id = givenId(answer.file_id, fileId);
      await client.upload(String(answer.upload_url), file.data, { signal, timeoutMs: uploadMs });
    } catch (error) {
      throw failureOf(error, true);
    }
    // Security: there is no way to say that Slack shall fetch no address here, so there are none.
    const blocks = (isPlain: boolean) => (text.trim() === '' ? {} : { blocks: [format(text, { links: false, isPlain }).block] });
    const { channel, ...thread } = where;
    const shown = { files: [{ id, title: name }], channel_id: channel, ...thread };
    try {
      await eitherWay((isPlain) => client.call('files.completeUploadExternal', { ...shown, ...blocks(isPlain) }, { signal }));
    } catch (error) {
      throw failureOf(error, false);
    }
    return await this.#messageOfFile(workspace, channel, id, signal);
  }

  /** The id of the message that a file is in, or one that is good to remove it. Never rejects: the file was sent. */
  async #messageOfFile({ client }: Workspace, channel: string, file: string, signal: AbortSignal | undefined): Promise<string> {
    for (const pauseMs of sharePauses) {
      await pause(pauseMs, signal);
      if (signal?.aborted) break;
      const answer = await client.call<{ file?: unknown }>('files.info', { file }, { timeoutMs: politenessMs }).catch(() => undefined);
      const { public: open, private: closed } = recordOf(recordOf(answer?.file).shares);
      const [share] = [recordOf(open)[channel], recordOf(closed)[channel]].flatMap(listOf);
      if (isId(share?.ts, messageId)) return share.ts;
    }
    return filePrefix + file;
  }
}

interface Where {
  channel: string;
  thread_ts?: string;
}

function whereOf({ chat, thread }: Place): Where {
  return { channel: givenId(chat, channelId), ...(thread !== undefined && { thread_ts: givenId(thread, messageId) }) };
}

/** Shows a text as it was written when Slack does not take it otherwise. */
async function eitherWay<Result>(call: (isPlain: boolean) => Promise<Result>): Promise<Result> {
  try {
    return await call(false);
  } catch (error) {
    if (error instanceof SlackCallError && /^(invalid_blocks|msg_blocks_too_long)/.test(error.code)) return await call(true);
    throw error;
  }
}

function contentOf({ text, buttons = [] }: Outgoing, isPlain: boolean) {
  const { block, fallback } = format(text, { links: true, isPlain });
  const rows = buttons.map((row, index) => ({
    type: 'actions',
    elements: row.map(({ label, data }, place) => ({
      type: 'button',
      text: { type: 'plain_text', text: label.slice(0, maxLabel).toWellFormed(), emoji: false },
      action_id: `button-${index}-${place}`,
      value: data,
    })),
  }));
  return { text: fallback, blocks: [block, ...rows] };
}
