import type { LookupAddress } from 'node:dns';
import { stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Lane } from '../lib/lanes.ts';
import { readFileWithin } from '../lib/read-file-within.ts';

/** Lists of hundreds of thousands of blocked hosts are smaller. */
const maxBytes = 16 * 1024 * 1024;

type Names = ReadonlyMap<string, readonly LookupAddress[]>;

/** A file such as /etc/hosts, as it is when it is asked. One that cannot be read, or exceeds 16 MB, has no names. */
export class HostsFile {
  readonly #path: string;
  /** The first one that finds the file changed reads it, for those that come meanwhile as well. */
  readonly #lane = new Lane();
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
      this.#names = namesIn((await readFileWithin(this.#path, maxBytes)).toString());
      this.#version = version;
    } catch {
      this.#names = new Map();
      this.#version = '';
    }
    return this.#names;
  }
}

function namesIn(text: string): Names {
  const names = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...hosts] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const host of hosts) {
      const addresses = names.get(host.toLowerCase()) ?? [];
      addresses.push({ address, family });
      names.set(host.toLowerCase(), addresses);
    }
  }
  return names;
}
