import { backoffMs } from '../../lib/backoff.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import { isTransient, reasonOf } from './failures.ts';
import { isId, messageId } from './ids.ts';
import { listOf, type Root, recordOf, rootOf, type SlackMessage } from './parse.ts';
import type { Workspace } from './workspaces.ts';

/** A name is not worth waiting for. */
const nameMs = 5_000;
const nameLifeMs = 60 * 60_000;
const unknownLifeMs = 5 * 60_000;
const maxKept = 5_000;
/** A longer text is asked for again. */
const maxKeptText = 8_000;
/** A message counts as not meant for us when it cannot be found out. */
const maxTries = 6;
const pauses = { firstMs: 500, maxMs: 30_000 };

interface Kept<Value> {
  value: Value | undefined;
  until: number;
}

/** What a message does not say: what people are called, and what its thread is about. */
export class Lookups {
  readonly #names = new BoundedMap<string, Kept<string>>(maxKept);
  readonly #roots = new BoundedMap<string, Kept<Root>>(maxKept);
  readonly #signal: AbortSignal;
  readonly #log: (sentence: string) => void;

  constructor({ signal, log }: { signal: AbortSignal; log: (sentence: string) => void }) {
    this.#signal = signal;
    this.#log = log;
  }

  /** By the id of a user, of those who are known. Never rejects. */
  async names(workspace: Workspace, users: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = await Promise.all(users.map(async (user) => [user, await this.#name(workspace, user)] as const));
    return new Map(found.flatMap(([user, name]) => (name === undefined ? [] : [[user, name] as const])));
  }

  /** The message that a thread is about; undefined when it cannot be read. Never rejects. */
  async root(workspace: Workspace, channel: string, thread: string): Promise<Root | undefined> {
    const key = JSON.stringify([workspace.team, channel, thread]);
    const kept = fresh(this.#roots, key);
    if (kept) return kept.value;
    for (let failures = 1; failures <= maxTries && !this.#signal.aborted; failures += 1) {
      try {
        const wanted = { channel, ts: thread, latest: thread, inclusive: true, limit: 1 };
        const { messages } = await workspace.client.call<{ messages?: unknown }>('conversations.replies', wanted, { signal: this.#signal });
        const found = listOf(messages).find(({ ts }) => ts === thread);
        return this.#keepRoot(key, found && rootOf(found));
      } catch (error) {
        if (this.#signal.aborted || !(error instanceof CallError)) break;
        if (!isTransient(error)) return keep(this.#roots, key, undefined, unknownLifeMs);
        if (failures === maxTries)
          this.#log(`It could not be found out what a thread on Slack is about, so a message in it may be ignored. ${reasonOf(error)}`);
        else await pause(error.retryAfterMs ?? backoffMs(failures, pauses), this.#signal);
      }
    }
    return undefined;
  }

  /** A message that a thread may be about some day. */
  learn(team: string, channel: string, message: SlackMessage): void {
    const { ts, thread_ts: thread } = message;
    if (isId(ts, messageId) && (thread === undefined || thread === ts)) {
      this.#keepRoot(JSON.stringify([team, channel, ts]), rootOf(message));
    }
  }

  #keepRoot(key: string, root: Root | undefined): Root | undefined {
    if (root && root.text.length > maxKeptText) return root;
    return keep(this.#roots, key, root, root ? nameLifeMs : unknownLifeMs);
  }

  async #name(workspace: Workspace, user: string): Promise<string | undefined> {
    const key = JSON.stringify([workspace.team, user]);
    const kept = fresh(this.#names, key);
    if (kept) return kept.value;
    try {
      const answer = await workspace.client.call<{ user?: unknown }>('users.info', { user }, { timeoutMs: nameMs, signal: this.#signal });
      const found = recordOf(answer.user);
      const profile = recordOf(found.profile);
      const names = [profile.display_name, profile.real_name, found.real_name, found.name];
      const name = names.find((one) => typeof one === 'string' && one !== '') as string | undefined;
      return keep(this.#names, key, name, nameLifeMs);
    } catch {
      return this.#signal.aborted ? undefined : keep(this.#names, key, undefined, unknownLifeMs);
    }
  }
}

function fresh<Value>(kept: BoundedMap<string, Kept<Value>>, key: string): Kept<Value> | undefined {
  const found = kept.get(key);
  return found && found.until > Date.now() ? found : undefined;
}

function keep<Value>(kept: BoundedMap<string, Kept<Value>>, key: string, value: Value | undefined, lifeMs: number): Value | undefined {
  kept.set(key, { value, until: Date.now() + lifeMs });
  return value;
}
