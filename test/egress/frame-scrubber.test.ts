import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameScrubber } from '../../src/egress/frame-scrubber.ts';
import { Scrubber } from '../../src/egress/scrubber.ts';
import { describeGuessing } from './guessing.ts';

const secret = { value: 'World-key-that-no-sandbox-may-see', placeholder: 'hmtcqqqqqqqqqqqqqqqqqqqqqqqqqqqqq' };
const scrubber = new Scrubber([secret]);

const [textFrame, continuation, ping] = [0x81, 0x80, 0x89];

/** A frame of text, as a host sends it, unless it begins with another byte. */
function frame(text: string | Buffer, first = textFrame): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), payload]);
  const header = Buffer.alloc(length < 65_536 ? 4 : 10);
  header.writeUInt16BE((first << 8) | (length < 65_536 ? 126 : 127), 0);
  if (length < 65_536) header.writeUInt16BE(length, 2);
  else header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, payload]);
}

/** The payloads of frames in turn, without those of pings. */
function payloadsOf(bytes: Buffer): Buffer[] {
  const code = bytes[1] ?? 0;
  const [begin, length] = code < 126 ? [2, code] : code === 126 ? [4, bytes.readUInt16BE(2)] : [10, Number(bytes.readBigUInt64BE(2))];
  if (bytes.length === 0) return [];
  const rest = payloadsOf(bytes.subarray(begin + length));
  return bytes[0] === ping ? rest : [bytes.subarray(begin, begin + length), ...rest];
}

describeGuessing('in the frames of a WebSocket', {
  begin: (one) => new FrameScrubber(one),
  wrap: (text, places) => {
    const cuts = [0, ...places.filter((place) => place <= text.length).sort((a, b) => a - b), text.length];
    const parts = cuts.slice(1).map((end, index) => text.subarray(cuts[index], end));
    return Buffer.concat(parts.flatMap((part, index) => [frame(part, index === 0 ? textFrame : continuation), frame(`${index}`, ping)]));
  },
  unwrap: (bytes) => Buffer.concat(payloadsOf(bytes)),
});

function scrubbed(pieces: readonly Buffer[]): Buffer {
  const stream = new FrameScrubber(scrubber);
  return Buffer.concat([...pieces.map((piece) => stream.push(piece)), stream.end()]);
}

it.each([secret.value[0], secret.value.slice(0, 7), '5', 'told 576f726c'])(
  'a frame that ends with %s, as a value may begin, is given back at once',
  (ending = '') => {
    const whole = frame(`told ${ending}`);
    expect(new FrameScrubber(scrubber).push(whole).equals(whole)).toBe(true);
  },
);

it.each([0, 100, 200, 70_000])(
  'a value in a frame after %d other bytes is scrubbed at every cut near it, and the frame stays whole',
  (before) => {
    const text = `${'.'.repeat(before)}${secret.value} and more`;
    const bytes = Buffer.concat([frame('first'), frame(text), frame('last')]);
    const expected = Buffer.concat([frame('first'), frame(text.replace(secret.value, secret.placeholder)), frame('last')]);
    const at = bytes.indexOf(secret.value);
    const cuts = [...Array(30).keys(), ...Array.from({ length: secret.value.length + 20 }, (_, index) => at - 10 + index), bytes.length];
    for (const cut of cuts) expect(scrubbed([bytes.subarray(0, cut), bytes.subarray(cut)]).equals(expected), `cut at ${cut}`).toBe(true);
  },
);

it('frames of any bytes in any pieces keep their headers, and every byte that is not of a value', () => {
  const payload = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.constant(Buffer.from(`x${secret.value}y`)));
  fc.assert(
    fc.property(fc.array(payload, { maxLength: 6 }), fc.array(fc.nat(900), { maxLength: 8 }), (payloads, places) => {
      const bytes = Buffer.concat(payloads.map((one) => frame(Buffer.from(one))));
      const cuts = [0, ...places.filter((place) => place <= bytes.length).sort((a, b) => a - b), bytes.length];
      const out = scrubbed(cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end)));
      const clean = payloads.map((one) =>
        Buffer.from(Buffer.from(one).toString('latin1').replace(secret.value, secret.placeholder), 'latin1'),
      );
      expect(out.equals(Buffer.concat(clean.map((one) => frame(one))))).toBe(true);
    }),
    { seed: 12, numRuns: 300 },
  );
});

it('the beginning of a frame that never ends is given back at the end', () => {
  const bytes = Buffer.concat([frame('first'), Buffer.from([0x81, 126, 0])]);
  expect(scrubbed([bytes]).equals(bytes)).toBe(true);
});

it('a piece of very many empty frames does not keep the thread busy', () => {
  // When each frame copied the rest of the piece, this took minutes.
  const bytes = Buffer.alloc(1024 * 1024, frame(''));
  expect(scrubbed([bytes]).equals(bytes)).toBe(true);
});
