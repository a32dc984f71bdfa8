import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections, Door, Egress, FollowedCommand } from '../../core/egress.ts';
import { HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { liveAttachments } from '../../shell/pipes/attachments.ts';
import { type ContainerPlace, networkNamespaceOf } from './namespace.ts';
import { namespaceEntrance } from './restriction.ts';

interface DoorPlace extends ContainerPlace {
  egress: Egress;
}

interface EarlyCommand {
  command: FollowedCommand;
  answer: (() => Promise<Connections>) | undefined;
}

/** More are not kept. */
const maxEarly = 256;
const retryMs = 1_000;
/** So many times in a row, because a program that has just detached may still be closing its sockets. */
const maxTaken = 3;
/** After so many seconds it is tried again also when the same programs are attached. */
const maxIdleRounds = 10;

/**
 * The way out of a restricted container. Of several programs that are attached to it the first has the sockets; the others wait until they can
 * have them.
 */
export class ContainerDoor implements Door {
  readonly lost: Promise<string>;
  readonly #lose: (reason: string) => void;
  readonly #place: DoorPlace;
  readonly #closing = new AbortController();
  #opening: Promise<Door | undefined> | undefined;
  #door: Door | undefined;
  /** Commands that began before the sockets were ours, the oldest first. */
  readonly #early = new Set<EarlyCommand>();
  #closed: Promise<void> | undefined;

  constructor(place: DoorPlace) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.lost = promise;
    this.#lose = resolve;
    this.#place = place;
  }

  /**
   * Resolves when programs inside can connect, or when another program lets them. Rejects with `sandbox/network-taken` when a process inside has
   * one of the ports, and with `sandbox/network-failed` when the fault is not the container's. `attachment` is the name of our own one.
   */
  async open(attachment: string, signal?: AbortSignal): Promise<void> {
    const either = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
    if (!(await this.#hold(openUnlessHeld(this.#place, attachment, either)))) void this.#takeOver(attachment);
  }

  /** Whether the sockets are ours. */
  async #hold(opening: Promise<Door | undefined>): Promise<boolean> {
    this.#opening = opening;
    this.#door = await opening;
    for (const early of this.#early) early.answer = this.#door?.watch(early.command);
    if (this.#door) this.#early.clear();
    void this.#door?.lost.then(this.#lose);
    return this.#door !== undefined;
  }

  async #takeOver(attachment: string): Promise<void> {
    const { signal } = this.#closing;
    try {
      let before = others(this.#place, attachment);
      for (let idle = 1; ; idle++) {
        await sleep(retryMs, undefined, { signal, ref: false });
        const now = others(this.#place, attachment);
        const isUnchanged = before.length > 0 && before.every((name) => now.includes(name));
        if (isUnchanged && idle < maxIdleRounds) continue;
        if (await this.#hold(openUnlessHeld(this.#place, attachment, signal))) return;
        [before, idle] = [now, 0];
      }
    } catch (error) {
      if (!signal.aborted) this.#lose(errorText(error));
    }
  }

  /** What the sockets of another program refuse is not known here. */
  watch(command: FollowedCommand): () => Promise<Connections> {
    if (this.#door) return this.#door.watch(command);
    const early: EarlyCommand = { command, answer: undefined };
    this.#early.add(early);
    const [oldest] = this.#early;
    if (this.#early.size > maxEarly && oldest) this.#early.delete(oldest);
    return async () => (await early.answer?.()) ?? { blocked: [], allowed: [] };
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#closed ??= (async () => (await this.#opening?.catch(() => undefined))?.close())();
    return this.#closed;
  }
}

/** undefined when another program has the sockets. */
async function openUnlessHeld(place: DoorPlace, attachment: string, signal: AbortSignal): Promise<Door | undefined> {
  for (let taken = 1; ; taken++) {
    const wasHeld = others(place, attachment).length > 0;
    try {
      return await openDoor(place, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isTaken(error)) throw error;
      if (wasHeld || others(place, attachment).length > 0) return undefined;
      // Security: a process inside listens where programs look for the proxy, and would see what they send.
      if (taken === maxTaken) throw error;
    }
    await sleep(retryMs, undefined, { signal });
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof HermeticError && error.code === 'sandbox/network-taken';
}

/** Other programs that are attached to the container, and other attachments of this one. */
function others({ runDirectory }: DoorPlace, attachment: string): string[] {
  return liveAttachments(runDirectory).filter((name) => name !== attachment);
}

async function openDoor(place: DoorPlace, signal: AbortSignal): Promise<Door> {
  const namespace = await networkNamespaceOf(place, signal);
  const command = [namespaceEntrance() ?? 'nsenter', '--net=/proc/self/fd/3', '--'];
  try {
    return await place.egress.open({ command, namespace, onStarted: () => closeSync(namespace) }, signal);
  } catch (error) {
    if (isTaken(error)) throw error;
    const hint = error instanceof HermeticError ? error.hint : undefined;
    throw new HermeticError('sandbox/network-failed', errorText(error), { hint, cause: error });
  }
}
