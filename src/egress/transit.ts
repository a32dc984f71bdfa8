import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { BoundSecret } from '../core/egress.ts';
import { FrameScrubber } from './frame-scrubber.ts';
import { type Injection, inject } from './inject.ts';
import { Scrubber } from './scrubber.ts';

/** Changes what passes between a client and a host that has secrets: values into requests, and out of answers. */
export class Transit {
  readonly #here: readonly BoundSecret[];
  readonly #all: readonly BoundSecret[];
  readonly #scrubber: Scrubber;

  /** `here`: the secrets of this host. `all`: those of the installation. */
  constructor(here: readonly BoundSecret[], all: readonly BoundSecret[]) {
    this.#here = here;
    this.#all = all;
    this.#scrubber = new Scrubber(here);
  }

  /** A request as the host gets it; headers are names and values in turn. Security: answers must come in an encoding that can be looked into. */
  outgoing(headers: readonly string[], path: string): Injection {
    const kept = headersWithout(headers, ['accept-encoding', 'sec-websocket-extensions']);
    return inject({ headers: [...kept, 'Accept-Encoding', 'identity'], path }, this.#here, this.#all);
  }

  /** Names and values in turn. */
  incomingHeaders(headers: readonly string[]): string[] {
    return headers.map((text) => this.#scrubber.text(text));
  }

  /** The answer to a request without values; undefined when its encoding cannot be looked into. */
  incoming(answer: IncomingMessage, method: string | undefined): { headers: string[]; body: Readable } | undefined {
    const encoding = answer.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
    const raw = this.incomingHeaders(answer.rawHeaders);
    const { statusCode } = answer;
    // Its headers are about a body that does not come.
    const isEmpty = method === 'HEAD' || statusCode === 204 || statusCode === 304;
    if (isEmpty || encoding === 'identity' || encoding === '') return { headers: raw, body: answer.pipe(this.stream()) };
    const decoder = decoderFor(encoding);
    if (!decoder) return undefined;
    const body = this.stream();
    decoder.on('error', (error) => body.destroy(error));
    answer.pipe(decoder).pipe(body);
    return { headers: headersWithout(raw, ['content-encoding', 'content-length']), body };
  }

  /** Takes values out of bytes. What may be the beginning of one is held back; everything else passes at once. */
  stream(): Transform {
    return transformBy(this.#scrubber.begin());
  }

  /** The same for the frames of a WebSocket, each of which passes as a whole. */
  frames(): Transform {
    return transformBy(new FrameScrubber(this.#scrubber));
  }
}

function transformBy(scrubbing: Pick<FrameScrubber, 'push' | 'end'>): Transform {
  return new Transform({
    transform: (piece: Buffer, _encoding, done) => done(null, scrubbing.push(piece)),
    flush: (done) => done(null, scrubbing.end()),
  });
}

/** `names` in lower case. */
function headersWithout(headers: readonly string[], names: readonly string[]): string[] {
  return headers.filter((_, at) => !names.includes((headers[at - (at % 2)] ?? '').toLowerCase()));
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
