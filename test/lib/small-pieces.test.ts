import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ByteStore } from '../../src/lib/byte-store.ts';

const run = promisify(execFile);
const client = fileURLToPath(new URL('small-pieces-client.ts', import.meta.url));

/** Rejects when the heap, in which a million pieces have no room, was too small. */
async function bytesKept(reader: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--max-old-space-size=64', '--conditions=hermetic-source', client, reader]);
  return stdout;
}

describe('a million single bytes', () => {
  it.each(['store', 'frames', 'answer', 'file', 'capture', 'stream of a dead command', 'wire'])(
    'a million single bytes do not exhaust the memory of a host that reads them: %s',
    async (reader) => expect(await bytesKept(reader)).toBe('1000000\n'),
  );
});

describe('ByteStore', () => {
  it('returns the pushed bytes, minus the dropped ones', () => {
    const store = new ByteStore();
    let expected = Buffer.alloc(0);
    for (let turn = 0; turn < 2_000; turn++) {
      const piece = Buffer.alloc(turn % 7, turn);
      expect(store.push(piece)).toBe(true);
      expected = Buffer.concat([expected, piece]).subarray(turn % 5);
      store.drop(turn % 5);
      expect(store.view().equals(expected)).toBe(true);
    }
    expect(store.view(1, 3).equals(expected.subarray(1, 3))).toBe(true);
    expect([store.take().equals(expected), store.length]).toEqual([true, 0]);
  });

  it('refuses bytes beyond its limit', () => {
    const store = new ByteStore(5);
    expect([store.push(Buffer.from('abc')), store.push(Buffer.from('def')), store.push(Buffer.from('g'))]).toEqual([true, false, false]);
    expect(store.push(Buffer.alloc(0))).toBe(true);
    expect(String(store.take())).toBe('abcde');
  });
});
