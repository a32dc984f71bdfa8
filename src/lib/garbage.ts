import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }) => void;
let collect: Collect | undefined;

/**
 * Frees buffers that died young, in about a millisecond. V8 does not count what lies outside its heap until 64 MB have piled up, so
 * code that passes a flood of buffers through has to ask.
 */
export function collectYoungGarbage(): void {
  collector()({ type: 'minor' });
}

/** Frees everything, and gives the room back to the system, which V8 by itself may not do for minutes. Stops the thread for some tenths of a second. */
export function collectAllGarbage(): void {
  collector()({ type: 'major', flavor: 'last-resort' });
}

/** From now on V8 collects when the heap has grown by a seventh, not when it has doubled: a little more work for much less memory. */
export function collectSooner(): void {
  setFlagsFromString('--heap-growing-percent=15');
}

function collector(): Collect {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}
