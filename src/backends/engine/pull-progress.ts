import { StringDecoder } from 'node:string_decoder';

/** One line of what an engine says while it pulls. */
export interface PullEvent {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
  errorDetail?: { message?: string };
}

interface Layer {
  current: number;
  /** undefined until the registry has said. */
  total: number | undefined;
  downloaded: boolean;
  unpacked: boolean;
}

const longestLine = 1024 * 1024;

/** Takes the engine's lines out of chunks that end anywhere. */
export class PullEventReader {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  *feed(chunk: Buffer): Generator<PullEvent> {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > longestLine) {
      throw new Error('The engine sent a line without an end.');
    }
    for (const line of lines) {
      if (line.trim() !== '') {
        yield JSON.parse(line) as PullEvent;
      }
    }
  }
}

/** Adds the layers of one image up to a line for a person. */
export class PullProgress {
  readonly #image: string;
  readonly #layers = new Map<string, Layer>();

  constructor(image: string) {
    this.#image = image;
  }

  take(event: PullEvent): void {
    const { id, status } = event;
    if (id === undefined) {
      return;
    }
    if (status === 'Pulling fs layer' || status === 'Waiting') {
      this.#layer(id);
    } else if (status === 'Downloading') {
      const layer = this.#layer(id);
      layer.current = event.progressDetail?.current ?? layer.current;
      const total = event.progressDetail?.total;
      layer.total = total !== undefined && total > 0 ? total : layer.total;
    } else if (status === 'Verifying Checksum' || status === 'Download complete' || status === 'Extracting') {
      markDownloaded(this.#layer(id));
    } else if (status === 'Pull complete') {
      const layer = this.#layer(id);
      markDownloaded(layer);
      layer.unpacked = true;
    }
  }

  /** Totals become known one after another, hence `12 of 40+ MB` until the last. */
  text(): string {
    const layers = [...this.#layers.values()];
    if (layers.length === 0) {
      return `pulling ${this.#image}`;
    }
    if (layers.every((layer) => layer.downloaded)) {
      const unpacked = layers.filter((layer) => layer.unpacked).length;
      return `pulling ${this.#image}: unpacked ${unpacked} of ${layers.length} layers`;
    }
    const current = layers.reduce((sum, layer) => sum + layer.current, 0);
    const total = layers.reduce((sum, layer) => sum + (layer.total ?? layer.current), 0);
    const open = layers.some((layer) => layer.total === undefined && !layer.downloaded);
    return `pulling ${this.#image}: ${megabytes(current)} of ${megabytes(total)}${open ? '+' : ''} MB`;
  }

  #layer(id: string): Layer {
    const known = this.#layers.get(id) ?? { current: 0, total: undefined, downloaded: false, unpacked: false };
    this.#layers.set(id, known);
    return known;
  }
}

function markDownloaded(layer: Layer): void {
  layer.downloaded = true;
  layer.current = layer.total ?? layer.current;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000);
}
