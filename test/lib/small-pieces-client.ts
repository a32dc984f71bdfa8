/**
 * Feeds a reader one byte at a time and prints how many bytes it has kept. Started with a heap that is too small for a million
 * objects: `node --max-old-space-size=64 small-pieces-client.ts READER`.
 */
import { PassThrough } from 'node:stream';
import { Wire } from '../../src/channels/terminal/wire.ts';
import type { ExecHandle, OutputChunk, Sandbox } from '../../src/core/sandbox.ts';
import { ByteStore } from '../../src/lib/byte-store.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { askSandbox } from '../../src/shell/ask-sandbox.ts';
import { readFileIn } from '../../src/shell/files.ts';
import { StreamPipe } from '../../src/shell/streams/stream-pipe.ts';
import { FrameReader } from '../../src/tools/execute-code/code-frames.ts';
import { OutputCapture } from '../../src/tools/output-capture.ts';

const count = 1_000_000;
/** As a socket gives it: with memory of its own. */
const piece = (byte = 0x61): Buffer => Buffer.alloc(1, byte);

async function* output(): AsyncGenerator<OutputChunk> {
  for (let sent = 0; sent < count; sent++) yield { stream: 'stdout', data: piece() };
}

function handle(): ExecHandle {
  const nothing = async (): Promise<void> => undefined;
  return {
    output: output(),
    exit: Promise.resolve({ kind: 'exited', code: 0 }),
    troubles: async () => [],
    connections: async () => ({ blocked: [], allowed: [] }),
    write: nothing,
    closeStdin: () => undefined,
    kill: nothing,
    resize: nothing,
  };
}

const sandbox = { name: 'none', cwd: '/', exec: async () => handle() } as unknown as Sandbox;

const readers: Record<string, () => Promise<number> | number> = {
  store: () => {
    const store = new ByteStore();
    for (let sent = 0; sent < count; sent++) store.push(piece());
    return store.take().length;
  },
  frames: () => {
    const reader = new FrameReader(count);
    let bytes = 0;
    for (const _ of reader.push(Buffer.from(`${count}\n`)));
    for (let sent = 0; sent < count; sent++) for (const [field] of reader.push(piece())) bytes += field?.length ?? 0;
    return bytes;
  },
  answer: async () => (await askSandbox(sandbox, { command: 'any' }, { maxBytes: 2 * count })).stdout.length,
  file: async () => (await readFileIn(sandbox, 'any')).length,
  capture: async () => {
    let bytes = 0;
    const onText = (text: string): void => {
      bytes += text.length;
    };
    const capture = new OutputCapture({ sandbox, maxBytes: 400_000, redact: unredacted, onText });
    for (let sent = 0; sent < 400_000; sent++) await capture.push({ stream: 'stdout', data: piece(0x0a) });
    return bytes === 400_000 ? count : bytes;
  },
  'stream of a dead command': () => {
    const pipe = new StreamPipe();
    pipe.hurry();
    for (let sent = 0; sent < count; sent++) pipe.add(piece());
    return pipe.drain().reduce((sum, { length }) => sum + length, 0);
  },
  wire: async () => {
    const arrived = Promise.withResolvers<number>();
    const stream = new PassThrough();
    new Wire(stream, { handle: (_, value) => arrived.resolve(String(value).length), onEnd: () => arrived.resolve(0) });
    const send = (text: string): void => void stream.emit('data', Buffer.from(text));
    send('{"name":"any","value":"');
    for (let sent = 0; sent < count; sent++) stream.emit('data', piece());
    send('"}\n');
    return await arrived.promise;
  },
};

console.log(await readers[process.argv[2] ?? '']?.());
