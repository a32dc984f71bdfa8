import type { ChildProcess } from 'node:child_process';
import { afterEach, beforeEach } from 'vitest';
import type { Incoming, IncomingMessage, Place } from '../../src/core/channel.ts';
import type { Store } from '../../src/core/store.ts';

/** Where one store can be; every opening of a place reaches the same one. A new place has none yet. */
export interface StorePlace {
  open(): Promise<Store>;
}

/** A place that other processes reach too. */
export interface SharedStorePlace extends StorePlace {
  /** Another process, in which `store` is open, `say(value)` prints a line of JSON, and `args` is what it was given. Ends after the body. */
  start(body: string, args: unknown): ChildProcess;
}

export interface StoreRig<P extends StorePlace> {
  readonly place: P;
  readonly store: Store;
  /** Another opening of the same store. */
  open(): Promise<Store>;
}

/** A store for each test, closed after it. */
export function storeRig<P extends StorePlace>(newPlace: () => P): StoreRig<P> {
  const opened: Store[] = [];
  let current: { place: P; store: Store };
  const open = async (): Promise<Store> => {
    const store = await current.place.open();
    opened.push(store);
    return store;
  };
  beforeEach(async () => {
    const place = newPlace();
    const store = await place.open();
    opened.push(store);
    current = { place, store };
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });
  return {
    open,
    get place() {
      return current.place;
    },
    get store() {
      return current.store;
    },
  };
}

export const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000);

export const chat: Place = { platform: 'telegram', workspace: undefined, chat: '42', thread: undefined };

/** What a platform, or somebody on it, may call things. */
export const hostileTexts: readonly string[] = [
  '',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00\ud800',
  '"\'`\\',
  "'); drop table inbox; --",
  '__proto__',
  'constructor',
  '["a","b"]',
  'a,b',
  '😀\u202e\r\n\u2028',
  'x'.repeat(1024 * 1024),
];

export function message(changes: Partial<IncomingMessage> = {}): Incoming {
  return {
    kind: 'message',
    id: '1',
    place: chat,
    from: { id: '7', name: 'Ada' },
    at: at(0),
    text: 'Hello',
    isDirect: true,
    isAddressed: true,
    quoted: undefined,
    files: [],
    ...changes,
  };
}
