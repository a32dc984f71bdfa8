/** The data types of the SSH protocol (RFC 4251). */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function string(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A number without a sign, big end first. */
export function mpint(value: Buffer): Buffer {
  const start = value.findIndex((byte) => byte !== 0);
  const bytes = start < 0 ? Buffer.alloc(0) : value.subarray(start);
  return string((bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export class Reader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#at++);
  }

  uint32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32BE(this.#at - 4);
  }

  string(): Buffer {
    const length = this.uint32();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
