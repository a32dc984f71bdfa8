import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Scrubber } from '../../src/egress/scrubber.ts';
import { passedAfter, type Scrubbing, spellings, stepsOf } from './scrub-steps.ts';

/** A way in which bytes get from a host into a sandbox. */
interface Carrier {
  begin(scrubber: Scrubber): Scrubbing;
  /** What the host sends for a text: with frames, one is cut at each place. */
  wrap(text: Buffer, cuts: readonly number[]): Buffer;
  unwrap(bytes: Buffer): Buffer;
}

/** As many unknown characters of a beginning as may pass. */
const maxPassed = 8;
const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'];

const unknown = (length: number) =>
  fc.array(fc.constantFrom(...letters), { minLength: length, maxLength: length }).map((all) => all.join(''));
/** Two values of one length, after what a guesser knows of their beginning: the placeholder has it, or many tokens do. */
const twoValues = fc
  .constantFrom({ known: '', min: 8 }, { known: 'ghp_', min: 8 }, { known: 'sk-ant-api03-', min: 24 })
  .chain(({ known, min }) =>
    fc.integer({ min, max: 60 }).chain((length) => fc.record({ known: fc.constant(known), a: unknown(length), b: unknown(length) })),
  );
const cuts = fc.array(fc.tuple(fc.nat(900), fc.boolean()), { maxLength: 12 });
const wrapCuts = fc.array(fc.nat(300), { maxLength: 6 });
const spelling = fc.constantFrom(...Object.values(spellings));
/** A beginning of one of two values that is too short to be told from other text. */
const guess = fc.tuple(fc.boolean(), fc.integer({ min: 1, max: maxPassed - 1 }), spelling);

/** What a program inside that chooses the answers of a host, or makes it repeat a value, can learn of it. */
export function describeGuessing(title: string, carrier: Carrier): void {
  const passed = (value: string, known: string, text: Buffer, frames: number[], places: [number, boolean][]): Buffer[] => {
    const filler = 'q'.repeat(Math.max(4, value.length - 4));
    const placeholder = `${known === 'ghp_' ? known : ''}hmtc${filler}`;
    return passedAfter(carrier.begin(new Scrubber([{ value: known + value, placeholder }])), stepsOf(carrier.wrap(text, frames), places));
  };
  const contentOf = (pieces: readonly Buffer[]): string => carrier.unwrap(Buffer.concat(pieces)).toString('latin1');

  describe(`a program inside, ${title},`, () => {
    it('sees the same bytes at the same moments, whichever of two values a host has, unless it knows 8 characters of one', () => {
      const fragments = fc.array(fc.oneof(fc.uint8Array({ maxLength: 60 }), guess), { maxLength: 12 });
      fc.assert(
        fc.property(twoValues, fragments, wrapCuts, cuts, ({ known, a, b }, parts, frames, places) => {
          const texts = parts.map((part) => {
            if (part instanceof Uint8Array) return Buffer.from(part);
            const [isFirst, count, spell] = part;
            return Buffer.from(`~${spell(known + (isFirst ? a : b).slice(0, count)).join('')}~`);
          });
          const text = Buffer.concat(texts);
          const [ofA = [], ofB] = [a, b].map((value) => passed(value, known, text, frames, places));
          expect(ofA.map((piece) => piece.toString('latin1'))).toEqual(ofB?.map((piece) => piece.toString('latin1')));
          expect(contentOf(ofA)).toBe(text.toString('latin1'));
        }),
        { seed: 24, numRuns: 1_000 },
      );
    });

    it('sees no difference between two values that begin alike, however long, unless it knows one of them whole', () => {
      const parts = fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.tuple(fc.nat(70), fc.nat(20), spelling)), { maxLength: 8 });
      fc.assert(
        fc.property(twoValues, fc.nat(60), parts, wrapCuts, cuts, ({ known, a, b }, alike, pieces, frames, places) => {
          const [first, second] = [a, a.slice(0, Math.max(maxPassed, alike)) + b.slice(Math.max(maxPassed, alike))];
          const texts = pieces.map((piece) => {
            if (piece instanceof Uint8Array) return Buffer.from(piece);
            const [count, others, spell] = piece;
            return Buffer.from(spell(`${known}${first.slice(0, count)}${'~'.repeat(others)}`).join(''));
          });
          const text = Buffer.concat(texts);
          const isWhole = Object.values(spellings).some((spell) =>
            [first, second].some((value) => text.includes(spell(known + value).join(''))),
          );
          fc.pre(!isWhole);
          const [ofFirst, ofSecond] = [first, second].map((value) => passed(value, known, text, frames, places));
          expect(ofFirst?.map((piece) => piece.toString('latin1'))).toEqual(ofSecond?.map((piece) => piece.toString('latin1')));
        }),
        { seed: 24, numRuns: 1_000 },
      );
    });

    it('sees no difference between two values that share 8 unknown characters, in base64 either', () => {
      fc.assert(
        fc.property(
          twoValues,
          fc.constantFrom('', 'x', 'xy'),
          fc.nat(60),
          wrapCuts,
          cuts,
          ({ known, a, b }, begun, count, frames, places) => {
            const second = a.slice(0, maxPassed) + b.slice(maxPassed);
            fc.pre(second !== a);
            const text = Buffer.from(Buffer.from(`${begun}${known}${a}`).toString('base64').slice(0, count));
            // Not more than all but the last of it.
            fc.pre(count < Math.floor((8 * (known + a).length) / 6) - 3);
            const [ofFirst, ofSecond] = [a, second].map((value) => passed(value, known, text, frames, places));
            expect(ofFirst?.map((piece) => piece.toString('latin1'))).toEqual(ofSecond?.map((piece) => piece.toString('latin1')));
          },
        ),
        { seed: 24, numRuns: 1_000 },
      );
    });

    it('sees at most 8 unknown characters of a value that a host repeats, wherever pieces, silences and the end cut it', () => {
      fc.assert(
        fc.property(twoValues, spelling, fc.nat(80), wrapCuts, cuts, ({ known, a: value }, spell, end, frames, places) => {
          const spelled = spell(known + value);
          const repeated = spelled.slice(0, Math.max(known.length, end));
          const text = Buffer.from(`told ${repeated.join('')}${repeated.length < spelled.length ? '' : ' and more'}`);
          const out = contentOf(passed(value, known, text, frames, places));
          expect(out).toHaveLength(text.length);
          for (let from = known.length; from + maxPassed < spelled.length; from++)
            expect(out).not.toContain(spelled.slice(from, from + maxPassed + 1).join(''));
        }),
        { seed: 24, numRuns: 1_000 },
      );
    });

    it('sees as little of a value that a host repeats in base64', () => {
      const before = fc.constantFrom('', 'x', 'xy');
      fc.assert(
        fc.property(twoValues, before, fc.nat(120), wrapCuts, cuts, ({ known, a: value }, begun, end, frames, places) => {
          const encoded = Buffer.from(`${begun}${known}${value} and more`).toString('base64');
          const out = contentOf(passed(value, known, Buffer.from(encoded.slice(0, end)), frames, places));
          // Six bits each: those of nine characters that lie within the value.
          const [first, last] = [Math.ceil((8 * (begun + known).length) / 6), Math.floor((8 * (begun + known + value).length) / 6)];
          for (let from = first; from + 12 <= last; from++) expect(out).not.toContain(encoded.slice(from, from + 12));
        }),
        { seed: 24, numRuns: 500 },
      );
    });
  });
}
