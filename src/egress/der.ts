/** The parts of DER that a certificate is made of. */

export function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff]);
}

export const sequence = (...content: readonly Buffer[]): Buffer => der(0x30, ...content);
export const setOf = (...content: readonly Buffer[]): Buffer => der(0x31, ...content);
export const octets = (content: Buffer): Buffer => der(0x04, content);
export const text = (value: string): Buffer => der(0x0c, Buffer.from(value));
export const isTrue = der(0x01, Buffer.from([0xff]));
/** A part with its number in the structure around it. */
export const numbered = (number: number, ...content: readonly Buffer[]): Buffer => der(0xa0 | number, ...content);

export function bits(content: Buffer, unused = 0): Buffer {
  return der(0x03, Buffer.from([unused]), content);
}

/** A number of zero or more, from its bytes. */
export function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first);
  return der(0x02, (digits[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits);
}

/** An object identifier from its dotted form. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const groups = rest.flatMap((number) => {
    const bytes = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
    return bytes;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...groups]));
}

export function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  // Two digits for the year until 2049: the standard allows the longer form only after that.
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
