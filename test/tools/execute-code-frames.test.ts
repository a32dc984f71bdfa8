import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameReader } from '../../src/tools/execute-code/code-frames.ts';

function read(reader: FrameReader, data: Buffer): string[][] {
  return [...reader.push(data)].map((fields) => fields.map(String));
}

describe('messages of a script', () => {
  const frames = [['call', '1', 'tool', '{}'], [''], ['ü'.repeat(300), '', '\n 5 5\n'], ['x'.repeat(5000)]];
  const bytes = Buffer.concat(frames.map(encodeFrame));

  it('reads the messages of a script for every split of the bytes', () => {
    for (const size of [1, 2, 3, 7, 100, 4096, bytes.length]) {
      const reader = new FrameReader(10_000);
      const found: string[][] = [];
      for (let at = 0; at < bytes.length; at += size) found.push(...read(reader, bytes.subarray(at, at + size)));
      expect(found).toEqual(frames);
    }
  });

  it('yields a message as soon as it is complete', () => {
    const reader = new FrameReader(100);
    expect(read(reader, Buffer.from('2 3\nabcd'))).toEqual([]);
    expect(read(reader, Buffer.from('e1 '))).toEqual([['ab', 'cde']]);
    expect(read(reader, Buffer.from('0\nz'))).toEqual([['z', '']]);
  });

  it('refuses a message without a plain line of lengths', () => {
    for (const header of ['', ' ', 'x', '-1', '1  1', ' 1', '1 ', '0x1', '1e1', '１', '123456789', '1'.repeat(1025)]) {
      expect(() => read(new FrameReader(1e9), Buffer.from(`${header}\n`)), header).toThrow('no message');
    }
    expect(() => read(new FrameReader(1e9), Buffer.from('1 '.repeat(600)))).toThrow('no message');
  });

  it('refuses a message that is too long before it reads it', () => {
    expect(() => read(new FrameReader(100), Buffer.from('60 41\n'))).toThrow('101 bytes; 100 are the most');
    expect(read(new FrameReader(100), Buffer.from(`60 40\n${'x'.repeat(100)}`))).toHaveLength(1);
  });
});
