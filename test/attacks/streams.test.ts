import { Readable, Writable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { joinPieces } from '../../src/backends/engine/exec-stream.ts';
import { FrameParser } from '../../src/backends/engine/frame-parser.ts';
import type { AttachedCommand } from '../../src/shell/streams/attached-command.ts';
import { FrameSplitter } from '../../src/shell/streams/frame-splitter.ts';
import { ShellStream } from '../../src/shell/streams/shell-stream.ts';
import { StreamPipe } from '../../src/shell/streams/stream-pipe.ts';

const nonce = '0123456789abcdef0123456789abcdef';
const start = `\x1e${nonce}`;
const end = `\x1e${nonce}.`;
const single = (text: string) => Array.from(Buffer.from(text, 'latin1'), (byte) => Buffer.of(byte));

describe('frames that arrive byte by byte', () => {
  afterEach(() => vi.restoreAllMocks());

  /** Everybody inside knows the nonce of the own shell. */
  const floods: Record<string, string> = {
    'a frame that announces more than comes': `${start}p9999:${'x'.repeat(9_000)}`,
    'a frame without an end': `${start}p9:${'x'.repeat(60_000)}`,
    'frames within frames': `${start}p9999:`.repeat(200),
    'starts of a frame': `${start}`.repeat(300),
    'a damaged frame full of ends that are none': `${start}p9:${`\x1e${nonce}`.repeat(300)}`,
    'a frame that ends too late': `${start}p9:${'x'.repeat(20_000)}${end}after`,
    'a header that never ends': `${start}p99999999999999999999`,
  };

  it.each(Object.entries(floods))('splits byte by byte in linear time: %s', (_what, text) => {
    let looked = 0;
    // What is copied and searched, in bytes.
    const { indexOf } = Buffer.prototype;
    const { concat } = Buffer;
    vi.spyOn(Buffer.prototype, 'indexOf').mockImplementation(function (this: Buffer, ...given: unknown[]) {
      looked += Math.max(0, this.length - Number(given[1] ?? 0));
      return Reflect.apply(indexOf, this, given);
    });
    vi.spyOn(Buffer, 'concat').mockImplementation((...given) => {
      looked += given[0].reduce((sum, one) => sum + one.length, 0);
      return concat(...given);
    });
    const splitter = new FrameSplitter(nonce, { bytes: () => undefined, frame: () => undefined, damaged: () => undefined });
    for (const byte of single(text)) splitter.push(byte);
    splitter.end();
    expect(looked).toBeLessThan(text.length * 200);
  });

  it.each(Object.entries(floods))('splits byte by byte as it does in one piece: %s', (_what, text) => {
    const heard = (pieces: readonly Buffer[]) => {
      const all: string[] = [];
      const splitter = new FrameSplitter(nonce, {
        bytes: (data) => all.push(data.toString('latin1')),
        frame: (kind, content) => all.push(`[${kind} ${content}]`),
        damaged: () => all.push('[damaged]'),
      });
      for (const piece of pieces) splitter.push(piece);
      splitter.end();
      return all.join('');
    };
    expect(heard(single(text))).toBe(heard([Buffer.from(text, 'latin1')]));
  });

  it('accepts a record right after the end of a damaged frame', () => {
    const heard: string[] = [];
    const splitter = new FrameSplitter(nonce, {
      bytes: () => undefined,
      frame: (kind, text) => heard.push(`${kind} ${text}`),
      damaged: () => heard.push('damaged'),
    });
    const record = `${start}r3:E 0${end}`;
    for (const byte of single(`${start}p9:somebody else wrote into this${end}${record}`)) splitter.push(byte);
    expect(heard).toEqual(['damaged', 'r E 0']);
  });
});

describe('output in single bytes', () => {
  it('gives up a stream that never becomes a shell', async () => {
    const stdout = new Readable({ read: () => undefined });
    const stderr = new Readable({ read: () => undefined });
    const pipes = { stdout: new StreamPipe(), stderr: new StreamPipe() };
    let isOver = false;
    const stdin = new Writable({ write: (_chunk, _encoding, done) => done() });
    const attached = { stdin, stdout, stderr, destroy: () => (isOver = true) } as unknown as AttachedCommand;
    const starting = new ShellStream(attached, 'key', () => undefined).start('', nonce, pipes, {
      receive: () => undefined,
      over: () => undefined,
    });
    let pieces = 0;
    for (; pieces < 60_000 && !isOver; pieces++) stdout.emit('data', Buffer.of(120));
    expect(pieces).toBeLessThan(5_000);
    await expect(starting).rejects.toThrow(/^x+$/);
  });

  it('joins single bytes of an engine into one piece per stream', () => {
    const frame = (stream: number, text: string) => Buffer.concat([Buffer.of(stream, 0, 0, 0, 0, 0, 0, text.length), Buffer.from(text)]);
    const chunk = Buffer.concat([...Array.from({ length: 500 }, () => frame(1, 'x')), frame(2, 'e'), frame(2, 'f'), frame(1, 'y')]);
    const pieces = [...joinPieces(new FrameParser().feed(chunk))].map(({ stream, data }) => `${stream} ${data}`);
    expect(pieces).toEqual([`stdout ${'x'.repeat(500)}`, 'stderr ef', 'stdout y']);
  });
});
