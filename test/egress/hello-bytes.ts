import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';

/** The first bytes that a TLS client of Node sends. */
export async function helloOfNode(options: ConnectionOptions): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const wire = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      resolve(chunk);
      done();
    },
  });
  const socket = connect({ ...options, socket: wire });
  socket.on('error', () => undefined);
  const bytes = await promise;
  socket.destroy();
  return bytes;
}

export function u16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}

export function extension(type: number, content: Buffer): Buffer {
  return Buffer.concat([u16(type), u16(content.length), content]);
}

export function serverNames(...names: string[]): Buffer {
  const entries = Buffer.concat(names.flatMap((name) => [Buffer.from([0]), u16(Buffer.byteLength(name)), Buffer.from(name)]));
  return extension(0, Buffer.concat([u16(entries.length), entries]));
}

/** The message without its records. */
export function helloMessage(extensions: readonly Buffer[] | undefined): Buffer {
  const tail = extensions ? Buffer.concat(extensions) : undefined;
  return message(
    Buffer.concat([
      u16(0x0303),
      Buffer.alloc(32, 7),
      Buffer.from([0]),
      u16(2),
      u16(0x1301),
      Buffer.from([1, 0]),
      ...(tail ? [u16(tail.length), tail] : []),
    ]),
  );
}

export function message(body: Buffer, type = 1): Buffer {
  return Buffer.concat([Buffer.from([type, body.length >> 16]), u16(body.length & 0xffff), body]);
}

/** The message in records of at most that many bytes. */
export function records(content: Buffer, size = 16_384): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) {
    const part = content.subarray(at, at + size);
    parts.push(Buffer.from([22, 3, 1]), u16(part.length), part);
  }
  return Buffer.concat(parts);
}
