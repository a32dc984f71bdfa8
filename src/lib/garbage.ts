import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' | 'major' }) => void;
let collect: Collect | undefined;

/**
 * Frees buffers that died young, in about a millisecond. V8 does not count what lies outside its heap until 64 MB have piled up, so
 * code that passes a flood of buffers through has to ask.
 */
export function collectYoungGarbage(): void {
  collector()({ type: 'minor' });
}

/** Frees everything. V8 gives the room back to the system in small steps, some seconds later; by itself it would do neither for minutes. */
export function collectAllGarbage(): void {
  collector()({ type: 'major' });
}

/** From now on V8 collects when the heap has grown by a quarter, not when it has doubled: a little more work for much less memory. */
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
