import type { Scrubber, ScrubStream } from './scrubber.ts';

const shortHeader = 2;
const maskBytes = 4;
/** With the longest length and a mask. */
const longestHeader = 14;

/** The first bit of an operation code: pings and the like, which may come between the frames of one message. */
const controlBit = 0x08;

/**
 * Takes values out of the frames of a WebSocket, which come in pieces, cut anywhere. At the end of a frame nothing is held back: its client may wait
 * for all of it before it says anything. A value that goes on in the next frame is still one.
 */
export class FrameScrubber {
  readonly #messages: ScrubStream;
  readonly #controls: ScrubStream;
  /** That of the current frame. */
  #payload: ScrubStream;
  /** The beginning of the next frame, as long as its header is not whole. */
  #header: Buffer = Buffer.alloc(0);
  /** Bytes of the payload that are still to come. */
  #left = 0;

  constructor(scrubber: Scrubber) {
    this.#messages = scrubber.begin();
    this.#controls = scrubber.begin();
    this.#payload = this.#messages;
  }

  push(piece: Buffer): Buffer {
    const clean: Buffer[] = [];
    let rest = piece;
    while (rest.length > 0) rest = this.#left > 0 ? this.#pushPayload(rest, clean) : this.#pushHeader(rest, clean);
    return Buffer.concat(clean);
  }

  /** As that of a `ScrubStream`. */
  pause(): Buffer {
    return this.#payload.pause();
  }

  end(): Buffer {
    return Buffer.concat([this.#payload.end(), this.#header]);
  }

  #pushPayload(bytes: Buffer, clean: Buffer[]): Buffer {
    const part = bytes.subarray(0, this.#left);
    this.#left -= part.length;
    clean.push(this.#payload.push(part));
    if (this.#left === 0) clean.push(this.#payload.cut());
    return bytes.subarray(part.length);
  }

  #pushHeader(bytes: Buffer, clean: Buffer[]): Buffer {
    // Security: not all bytes, which would be copied again for each of very many empty frames.
    const known = Buffer.concat([this.#header, bytes.subarray(0, longestHeader)]);
    const length = headerLength(known);
    if (known.length < length) {
      this.#header = known;
      return Buffer.alloc(0);
    }
    const rest = bytes.subarray(length - this.#header.length);
    const header = known.subarray(0, length);
    this.#header = Buffer.alloc(0);
    // Security: what is not framed as a host has to frame it cannot be looked into.
    if (!isValid(header)) throw new Error('The host sent a frame that is none.');
    this.#left = payloadLength(header);
    this.#payload = header.readUInt8(0) & controlBit ? this.#controls : this.#messages;
    clean.push(header);
    return rest;
  }
}

/** As far as it is known: at least what is needed to know more. */
function headerLength(bytes: Buffer): number {
  const second = bytes[1];
  if (second === undefined) return shortHeader;
  const code = second & 0x7f;
  const extended = code === 126 ? 2 : code === 127 ? 8 : 0;
  return shortHeader + extended + (second & 0x80 ? maskBytes : 0);
}

/** Of a host: with an operation that exists, no extension and no mask. A control frame is short. */
function isValid(header: Buffer): boolean {
  const [first, second] = [header.readUInt8(0), header.readUInt8(1)];
  const operation = first & 0x0f;
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0) return false;
  return operation & controlBit ? operation <= 0x0a && payloadLength(header) < 126 : operation <= 0x02;
}

function payloadLength(header: Buffer): number {
  const code = header.readUInt8(1) & 0x7f;
  if (code === 126) return header.readUInt16BE(shortHeader);
  return code === 127 ? Number(header.readBigUInt64BE(shortHeader)) : code;
}
