import { AsyncLocalStorage } from 'node:async_hooks';

const isQuiet = new AsyncLocalStorage<true>();
const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;
let isReady = false;

/** Security: the library below Baileys prints sessions with their private keys. Nothing that happens in `work` is printed. */
export function quietly<Result>(work: () => Result): Result {
  prepare();
  return isQuiet.run(true, work);
}

function prepare(): void {
  if (isReady) return;
  isReady = true;
  for (const method of methods) {
    const print = console[method].bind(console);
    console[method] = (...given: unknown[]): void => {
      if (!isQuiet.getStore()) print(...given);
    };
  }
}

const nothing = (): void => undefined;

interface Logger {
  level: string;
  child(): Logger;
  trace(): void;
  debug(): void;
  info(): void;
  warn(): void;
  error(): void;
  fatal(): void;
}

/** For Baileys. */
export const silentLogger: Logger = {
  level: 'silent',
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
  child: () => silentLogger,
};
