import { type APIChannel, Routes, ThreadAutoArchiveDuration } from 'discord-api-types/v10';
import type { Place } from '../../core/channel.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { DiscordClient } from './client.ts';
import { codes, DiscordError } from './failures.ts';

const maxKept = 10_000;
const maxTitle = 80;

/**
 * Threads in which messages of channels are answered. Such a thread has the id of the message it begins with, and does not exist until something
 * is said in it.
 */
export class OwnThreads {
  readonly #client: DiscordClient;
  readonly #titles = new BoundedMap<string, string>(maxKept);
  /** Channels in which something is said because a thread cannot be made. */
  readonly #instead = new BoundedMap<string, string>(maxKept);

  constructor(client: DiscordClient) {
    this.#client = client;
  }

  /** A message that is going to be answered in a thread. */
  expect(message: string, text: string): void {
    const [line = ''] = text.trim().split('\n');
    this.#titles.set(message, [...line].slice(0, maxTitle).join(''));
  }

  /** The channel that has what belongs into a thread that could not be made. */
  insteadOf(thread: string): string | undefined {
    return this.#instead.get(thread);
  }

  /** Makes the thread; where the bot may not, what belongs into it goes to its channel. */
  async begin({ chat }: Place, thread: string, signal: AbortSignal | undefined): Promise<void> {
    const body = { name: this.#titles.get(thread) || 'Conversation', auto_archive_duration: ThreadAutoArchiveDuration.OneDay };
    try {
      await this.#client.call<APIChannel>('POST', Routes.threads(chat, thread), { body, signal });
    } catch (error) {
      if (!(error instanceof DiscordError)) throw error;
      if (error.code === codes.threadExists) return;
      if (error.status !== 403) throw error;
      this.#instead.set(thread, chat);
    }
  }
}
