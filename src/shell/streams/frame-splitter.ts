import { ByteStore } from '../../lib/byte-store.ts';

/** A frame between the output of a command; see `guest/frames.bash`. */
export interface FrameListener {
  /** Output, unchanged and in order. */
  bytes(data: Buffer): void;
  /** The text is bytes as latin1, one character a byte. */
  frame(kind: string, text: string): void;
  /** A frame with something else inside it. Neither is passed on. */
  damaged(): void;
}

const header = /^([a-z])(\d{1,4}):/;
const unfinishedHeader = /^(?:[a-z]\d{0,4})?$/;
const longestHeader = 6;
/** How far the end of a damaged frame is looked for. */
const farthestEnd = 64 * 1024;

/**
 * Takes the frames out of a stream that arrives in any pieces. Everything else is passed on at once, except what may still turn out to
 * be the start of a frame: that is never more than one frame, and nothing without the nonce starts one.
 */
export class FrameSplitter {
  readonly #start: Buffer;
  readonly #end: Buffer;
  readonly #listener: FrameListener;
  #held: ByteStore | undefined;
  /** Security: with fewer bytes held than this nothing can be decided, so that nothing is gone through again for every byte that arrives alone. */
  #needed = 0;
  /** Up to here the end of a damaged frame was looked for in vain. */
  #searched = 0;

  constructor(nonce: string, listener: FrameListener) {
    this.#start = Buffer.from(`\x1e${nonce}`, 'latin1');
    this.#end = Buffer.from(`\x1e${nonce}.`, 'latin1');
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    this.#held?.push(chunk);
    if (this.#held && !this.#isDecided(this.#held)) return;
    let data = this.#held?.view() ?? chunk;
    // Receivers may keep the buffer, so its bytes are never written to again.
    this.#held = undefined;
    this.#needed = 0;
    this.#searched = 0;
    for (;;) {
      const start = data.indexOf(this.#start);
      const output = start === -1 ? data.length - this.#beginning(data) : start;
      if (output > 0) this.#listener.bytes(data.subarray(0, output));
      data = data.subarray(output);
      const taken = start === -1 ? 0 : this.#take(data);
      if (taken === 0) break;
      data = data.subarray(taken);
    }
    if (data.length === 0) return;
    this.#held = new ByteStore();
    this.#held.push(data);
  }

  #isDecided(held: ByteStore): boolean {
    if (held.length < this.#needed) return false;
    if (this.#searched === 0 || held.length >= farthestEnd) return true;
    if (held.view().indexOf(this.#end, this.#searched - this.#end.length) !== -1) return true;
    this.#searched = held.length;
    return false;
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#held) this.#listener.bytes(this.#held.view());
    this.#held = undefined;
  }

  /** How many of the last bytes could be the first of a frame. */
  #beginning(data: Buffer): number {
    let from = Math.max(0, data.length - this.#start.length + 1);
    for (;;) {
      const at = data.indexOf(0x1e, from);
      if (at === -1) return 0;
      if (data.compare(this.#start, 0, data.length - at, at) === 0) return data.length - at;
      from = at + 1;
    }
  }

  /** Takes the frame `data` starts with; resolves to its length, or 0 when more of it has to arrive. */
  #take(data: Buffer): number {
    const afterStart = this.#start.length;
    const head = data.toString('latin1', afterStart, afterStart + longestHeader);
    const [whole, kind = '', length = ''] = header.exec(head) ?? [];
    if (whole === undefined) {
      if (unfinishedHeader.test(head) && data.length < afterStart + longestHeader) return 0;
      this.#listener.bytes(data.subarray(0, afterStart));
      return afterStart;
    }
    const textStart = afterStart + whole.length;
    const textEnd = textStart + Number(length);
    if (data.length < textEnd + this.#end.length) {
      this.#needed = textEnd + this.#end.length;
      return 0;
    }
    if (data.compare(this.#end, 0, this.#end.length, textEnd, textEnd + this.#end.length) === 0) {
      this.#listener.frame(kind, data.toString('latin1', textStart, textEnd));
      return textEnd + this.#end.length;
    }
    const end = data.indexOf(this.#end, textStart);
    if (end === -1 && data.length < farthestEnd) {
      this.#searched = data.length;
      return 0;
    }
    this.#listener.damaged();
    // Security: all that was searched in vain, or the search would start again at every start of a frame in it.
    return end === -1 ? data.length : end + this.#end.length;
  }
}
