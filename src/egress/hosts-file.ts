import type { LookupAddress } from 'node:dns';
import { stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Lane } from '../lib/lanes.ts';
import { readFileWithin } from '../lib/read-file-within.ts';
import { ShortTurns } from '../lib/short-turns.ts';

/** Lists of hundreds of thousands of blocked hosts are smaller. */
const maxBytes = 16 * 1024 * 1024;
/** In one turn. */
const maxLines = 256;
/** Longer lines have no names. */
const maxLineLength = 8_192;

type Names = ReadonlyMap<string, readonly LookupAddress[]>;

/** A file such as /etc/hosts, as it is when it is asked. One that cannot be read, or exceeds 16 MB, has no names. */
export class HostsFile {
  readonly #path: string;
  /** The first one that finds the file changed reads it, for those that come meanwhile as well. */
  readonly #lane = new Lane();
  readonly #turns = new ShortTurns();
  #version = '';
  #names: Names = new Map();

  constructor(path: string) {
    this.#path = path;
  }

  /** In the order of the file. Never rejects. */
  async addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const names = await this.#lane.run(async () => await this.#current());
    return names.get(host) ?? [];
  }

  async #current(): Promise<Names> {
    try {
      const { ino, size, mtimeNs, ctimeNs } = await stat(this.#path, { bigint: true });
      const version = [ino, size, mtimeNs, ctimeNs].join(' ');
      if (version === this.#version) return this.#names;
      const steps = namesIn((await readFileWithin(this.#path, maxBytes)).toString());
      let step = steps.next();
      while (!step.done) step = await this.#turns.run(() => steps.next());
      this.#names = step.value;
      this.#version = version;
    } catch {
      this.#names = new Map();
      this.#version = '';
    }
    return this.#names;
  }
}

/** The names in the text of such a file, a few lines in each step. */
export function* namesIn(text: string): Generator<undefined, Names> {
  const names = new Map<string, LookupAddress[]>();
  for (let [at, lines] = [0, 1]; at < text.length; lines++) {
    const found = text.indexOf('\n', at);
    const end = found === -1 ? text.length : found;
    if (end - at <= maxLineLength) addNames(text.slice(at, end), names);
    at = end + 1;
    if (lines % maxLines === 0) yield;
  }
  return names;
}

function addNames(line: string, names: Map<string, LookupAddress[]>): void {
  const [address = '', ...hosts] = line.replace(/#.*/, '').trim().split(/\s+/);
  const family = isIP(address);
  if (family === 0) return;
  for (const host of hosts) {
    const addresses = names.get(host.toLowerCase()) ?? [];
    addresses.push({ address, family });
    names.set(host.toLowerCase(), addresses);
  }
}
