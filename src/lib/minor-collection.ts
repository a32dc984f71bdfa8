import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;
let collect: Collect | undefined;

/**
 * Frees buffers that died young, in about a millisecond. V8 does not count what lies outside its heap until 64 MB have piled up, so
 * whoever passes a flood of buffers through has to ask.
 */
export function collectYoungGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  collect({ type: 'minor' });
}
