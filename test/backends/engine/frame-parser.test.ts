import { describe, expect, it } from 'vitest';
import { FrameParser, type FramePiece } from '../../../src/backends/engine/frame-parser.ts';

function frame(kind: number, data: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(data.length, 4);
  return Buffer.concat([header, data]);
}

/** The same numbers in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function collect(pieces: Iterable<FramePiece>, into: { order: string; stdout: Buffer[]; stderr: Buffer[] }): void {
  for (const piece of pieces) {
    into[piece.stream].push(Buffer.from(piece.data));
    into.order += piece.stream === 'stdout' ? 'o'.repeat(piece.data.length) : 'e'.repeat(piece.data.length);
  }
}

describe('the frames of an exec stream', () => {
  it('parses the same frames for every split of the bytes', () => {
    const random = randomNumbers(7);
    for (let round = 0; round < 300; round++) {
      const expected = { order: '', stdout: [] as Buffer[], stderr: [] as Buffer[] };
      const wire: Buffer[] = [];
      for (let count = random(12); count > 0; count--) {
        const kind = 1 + random(2);
        const data = Buffer.from(Array.from({ length: random(4) === 0 ? 0 : random(60) }, () => random(256)));
        wire.push(frame(kind, data));
        collect([{ stream: kind === 1 ? 'stdout' : 'stderr', data }], expected);
      }
      const bytes = Buffer.concat(wire);
      const parser = new FrameParser();
      const seen = { order: '', stdout: [] as Buffer[], stderr: [] as Buffer[] };
      for (let offset = 0; offset < bytes.length; ) {
        const length = 1 + random(random(3) === 0 ? 1 : 40);
        collect(parser.feed(bytes.subarray(offset, offset + length)), seen);
        offset += length;
      }
      expect(Buffer.concat(seen.stdout)).toEqual(Buffer.concat(expected.stdout));
      expect(Buffer.concat(seen.stderr)).toEqual(Buffer.concat(expected.stderr));
      expect(seen.order).toBe(expected.order);
      expect(parser.atBoundary).toBe(true);
    }
  });

  it('tells at every byte whether a frame is cut off', () => {
    const bytes = Buffer.concat([frame(1, Buffer.from('abc')), frame(2, Buffer.alloc(0)), frame(1, Buffer.from('d'))]);
    const boundaries = new Set([11, 19, 28]);
    const parser = new FrameParser();
    for (let index = 0; index < bytes.length; index++) {
      [...parser.feed(bytes.subarray(index, index + 1))];
      expect(parser.atBoundary, `after byte ${index + 1}`).toBe(boundaries.has(index + 1));
    }
  });

  it('yields the content of a frame that is still arriving', () => {
    const header = frame(1, Buffer.alloc(0));
    header.writeUInt32BE(0xffffffff, 4);
    const parser = new FrameParser();
    expect([...parser.feed(Buffer.concat([header, Buffer.from('first')]))]).toEqual([{ stream: 'stdout', data: Buffer.from('first') }]);
    expect([...parser.feed(Buffer.from('second'))]).toEqual([{ stream: 'stdout', data: Buffer.from('second') }]);
    expect(parser.atBoundary).toBe(false);
  });

  it('refuses bytes that are not a frame', () => {
    expect(() => [...new FrameParser().feed(Buffer.from('HTTP/1.1 500 oops'))]).toThrow(/invalid frame/);
    expect(() => [...new FrameParser().feed(Buffer.from([1, 0, 1, 0, 0, 0, 0, 0]))]).toThrow(/invalid frame/);
  });
});
