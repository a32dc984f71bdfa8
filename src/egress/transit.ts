import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { BoundSecret } from '../core/egress.ts';
import { ShortTurns } from '../lib/short-turns.ts';
import { FrameScrubber } from './frame-scrubber.ts';
import { headersWithout } from './http-headers.ts';
import { type Injection, inject, placeholdersIn, refusalFor } from './inject.ts';
import type { Scrubber } from './scrubber.ts';

/** Headers of a request by which its answer comes in parts, or in a form that cannot be looked into. */
const partial = ['a-im', 'accept-charset', 'accept-encoding', 'if-range', 'range', 'request-range', 'sec-websocket-extensions'];

/** A silence of the host after which a client gets what was held back. */
const silenceMs = 50;

/** Security: by length alone, whatever is in them. */
const sliceBytes = 4_096;
/** Security: of all answers of the thread, so that what one sandbox reads holds up no other one. */
const scrubbingTurns = new ShortTurns();

export interface TransitParts {
  /** The secrets that are put into requests. Undefined without TLS: then none is, and placeholders pass. */
  bound: readonly BoundSecret[] | undefined;
  /** Those of the host at any port. */
  ofHost: readonly BoundSecret[];
  /** Those of the installation. */
  all: readonly BoundSecret[];
  /** Takes the values of the host's secrets out of answers. Undefined for a host that has none. */
  scrubber: Scrubber | undefined;
}

/** Changes what passes between a client and a host: values into requests, and out of answers. */
export class Transit {
  readonly #parts: TransitParts;

  constructor(parts: TransitParts) {
    this.#parts = parts;
  }

  /**
   * A request as the host gets it; headers are names and values in turn. `carried` names the secrets whose placeholders it has where none is put in.
   * Security: answers must come whole, and in an encoding that can be looked into.
   */
  outgoing(headers: readonly string[], path: string): Injection & { carried?: readonly string[] } {
    const { bound, ofHost, all, scrubber } = this.#parts;
    const request = { headers: scrubber ? [...headersWithout(headers, partial), 'Accept-Encoding', 'identity'] : [...headers], path };
    if (bound) return inject(request, bound, all);
    return refusalFor(request, ofHost) ?? { request, used: [], carried: placeholdersIn(request, all) };
  }

  /** Names and values in turn. */
  incomingHeaders(headers: readonly string[]): string[] {
    return this.#parts.scrubber?.texts(headers) ?? [...headers];
  }

  /** The answer to a request without values; undefined when it comes in an encoding or in parts that cannot be looked into. */
  incoming(answer: IncomingMessage, method: string | undefined): { headers: string[]; body: Readable } | undefined {
    const { scrubber } = this.#parts;
    if (!scrubber) return { headers: answer.rawHeaders, body: answer };
    // No part was asked for.
    if (answer.statusCode === 206 || /^\s*multipart\/(?:x-)?byteranges/i.test(answer.headers['content-type'] ?? '')) return undefined;
    const encoding = answer.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
    const raw = this.incomingHeaders(answer.rawHeaders);
    const { statusCode } = answer;
    // Its headers are about a body that does not come.
    const isEmpty = method === 'HEAD' || statusCode === 204 || statusCode === 304;
    if (isEmpty || encoding === 'identity' || encoding === '') {
      return { headers: raw, body: pipeline(answer, transformBy(scrubber.begin()), endsWithReader) };
    }
    const decoder = decoderFor(encoding);
    if (!decoder) return undefined;
    const body = transformBy(scrubber.begin(), () => decoder.writableLength > 0 || decoder.readableLength > 0);
    return { headers: headersWithout(raw, ['content-encoding', 'content-length']), body: pipeline(answer, decoder, body, endsWithReader) };
  }

  /** Takes values out of the frames of a WebSocket. Undefined when nothing is to be taken out. */
  frames(): Transform | undefined {
    const { scrubber } = this.#parts;
    return scrubber && transformBy(new FrameScrubber(scrubber));
  }
}

/** The reader of a stream is told of its errors by the stream itself. */
const endsWithReader = (): void => undefined;

/** Takes values out of bytes that come in pieces. */
interface Scrubbing {
  push(piece: Buffer): Buffer;
  pause(): Buffer;
  end(): Buffer;
}

/** `isBusy`: something between the host and here still works on what it sent. */
function transformBy(scrubbing: Scrubbing, isBusy = () => false): Transform {
  let silence: NodeJS.Timeout | undefined;
  let wasHeldUp = false;
  let pieces = 0;
  const transform = new Transform({
    transform(piece: Buffer, _encoding, done) {
      pieces += 1;
      silence ??= setTimeout(onTime, silenceMs);
      silence.refresh();
      scrubInTurn(piece).then(
        (clean) => done(null, clean),
        (error: unknown) => done(error as Error),
      );
    },
    flush(done) {
      clearTimeout(silence);
      done(null, scrubbing.end());
    },
    destroy(error, done) {
      clearTimeout(silence);
      done(error);
    },
  });
  /** Neither a silence nor the end comes between its slices: until it is done, it counts as what still waits. */
  async function scrubInTurn(piece: Buffer): Promise<Buffer> {
    const clean: Buffer[] = [];
    for (let at = 0; at < piece.length && !transform.destroyed; at += sliceBytes) {
      const slice = piece.subarray(at, at + sliceBytes);
      clean.push(await scrubbingTurns.run(() => (transform.destroyed ? Buffer.alloc(0) : scrubbing.push(slice))));
    }
    if (!transform.destroyed) silence?.refresh();
    return Buffer.concat(clean);
  }
  // Security: after a long turn of the event loop timers come first, and what the host sent meanwhile only then.
  function onTime(): void {
    const known = pieces;
    setImmediate(() => {
      if (pieces === known && !transform.destroyed && !transform.writableEnded) onSilence();
    });
  }
  // Security: a client that does not read holds its host up, and would choose where the pieces end. Only a host that could say more is silent.
  function onSilence(): void {
    const { readableFlowing, readableLength, writableLength } = transform;
    const isHeldUp = readableFlowing !== true || readableLength > 0 || writableLength > 0 || isBusy();
    if (!isHeldUp && !wasHeldUp) transform.push(scrubbing.pause());
    else silence?.refresh();
    wasHeldUp = isHeldUp;
  }
  // Before any reader of it listens.
  transform.on('error', () => undefined);
  return transform;
}

function decoderFor(encoding: string): Transform | undefined {
  // What a host has flushed is passed on at once, as for server-sent events.
  const flush = constants.Z_SYNC_FLUSH;
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ flush });
    case 'deflate':
      return createInflate({ flush });
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      // Node 20 has none.
      return typeof createZstdDecompress === 'function' ? createZstdDecompress() : undefined;
    default:
      return undefined;
  }
}
