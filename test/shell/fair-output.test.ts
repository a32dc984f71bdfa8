import { Readable } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FairTurns } from '../../src/lib/fair-turns.ts';
import { Output } from '../../src/shell/output.ts';

const floodBytes = 4 * 1024 * 1024;

/** A clock that says that handling a byte takes 100 ns, and nothing else takes any time. */
function rig() {
  let handled = 0;
  const turns = new FairTurns(() => handled / 10_000);
  const silent = () => ({ stream: new Readable({ read: () => undefined }), drain: () => [] });
  const output = (bytes: number) => {
    let left = bytes;
    const stream = new Readable({
      read() {
        const size = Math.min(left, 64 * 1024);
        left -= size;
        this.push(size > 0 ? Buffer.alloc(size) : null);
      },
    });
    const made = new Output({ stream, drain: () => [] }, silent(), turns);
    stream.on('end', () => made.finish());
    return made;
  };
  const read = async (source: Output): Promise<number> => {
    let bytes = 0;
    for await (const { data } of source) {
      bytes += data.length;
      handled += data.length;
    }
    return bytes;
  };
  return { output, read, handled: () => handled };
}

describe('the output of several sessions', () => {
  it('yields after a bounded number of bytes while several sessions flood', async () => {
    const { output, read, handled } = rig();
    const floods = [1, 2, 3].map(() => read(output(floodBytes)));
    let most = 0;
    for (let before = 0; handled() < floods.length * floodBytes; before = handled()) {
      await nextRound();
      most = Math.max(most, handled() - before);
    }
    expect(await Promise.all(floods)).toEqual([floodBytes, floodBytes, floodBytes]);
    // What each may take without waiting, and then pieces of 16 KiB.
    expect(most).toBeLessThanOrEqual(3 * (32 + 16) * 1024 + 4 * 16 * 1024);
  });

  it('delivers a short output before floods that wait', async () => {
    const { output, read, handled } = rig();
    const floods = [1, 2, 3].map(() => read(output(floodBytes)));
    while (handled() < floodBytes) await nextRound();
    const before = handled();
    expect(await read(output(20_000))).toBe(20_000);
    expect(handled() - before).toBeLessThan(floodBytes / 4);
    await Promise.all(floods);
  });

  it('delivers every byte in order, in bounded pieces', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
    const stream = Readable.from([bytes.subarray(0, 70_000), bytes.subarray(70_000)]);
    const made = new Output({ stream, drain: () => [] }, { stream: new Readable({ read: () => undefined }), drain: () => [] });
    stream.on('end', () => made.finish());
    const pieces: Buffer[] = [];
    for await (const { data } of made) pieces.push(data);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(16 * 1024);
  });
});
