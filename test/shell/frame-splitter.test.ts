import { randomBytes, randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../../src/shell/streams/frame-splitter.ts';

const nonce = '0123456789abcdef0123456789abcdef';
const frame = (kind: string, text: string): string => `\x1e${nonce}${kind}${text.length}:${text}\x1e${nonce}.`;

/** What came out, in order; output that was passed on in several pieces counts as one. */
type Heard = ['bytes' | 'frame' | 'damaged', string];

function listen() {
  const heard: Heard[] = [];
  const splitter = new FrameSplitter(nonce, {
    bytes: (data) => {
      const last = heard.at(-1);
      if (last?.[0] === 'bytes') last[1] += data.toString('latin1');
      else heard.push(['bytes', data.toString('latin1')]);
    },
    frame: (kind, text) => heard.push(['frame', `${kind} ${text}`]),
    damaged: () => heard.push(['damaged', '']),
  });
  return { heard, push: (text: string) => splitter.push(Buffer.from(text, 'latin1')), end: () => splitter.end() };
}

function split(...pieces: string[]): Heard[] {
  const { heard, push, end } = listen();
  for (const piece of pieces) push(piece);
  end();
  return heard;
}

/** Cuts anywhere, most often into very small pieces. */
function inPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = randomInt(4) === 0 ? randomInt(1, 200) : randomInt(1, 4);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

describe('the frame splitter', () => {
  it('splits frames from output in the same way for every split of the bytes', () => {
    const starts = ['', '\x1e', `\x1e${nonce.slice(0, 20)}`, `\x1e${nonce}`, `\x1e${nonce}r`, `\x1e\x1e${nonce}x`, nonce, '\n'];
    for (let round = 0; round < 300; round++) {
      const expected: Heard[] = [];
      let text = '';
      for (let part = randomInt(1, 6); part > 0; part--) {
        // Without the first `#` the random bytes might complete the header of a frame.
        const output = `${starts[randomInt(starts.length)]}#${randomBytes(randomInt(40)).toString('latin1')}#`;
        const kind = 'rpsm'[randomInt(4)] ?? '';
        const content = randomBytes(randomInt(300)).toString('latin1');
        text += output + frame(kind, content);
        expected.push(['bytes', output], ['frame', `${kind} ${content}`]);
      }
      expect(split(...inPieces(text))).toEqual(expected);
    }
  });

  it('passes output that resembles a frame unchanged', () => {
    const other = nonce.replace('0', '1');
    for (const output of [
      frame('r', 'E 0').replaceAll(nonce, other),
      `\x1e${nonce} E 0\n`,
      `\x1e${nonce}r:E 0\x1e${nonce}.`,
      `\x1e${nonce}R3:E 0\x1e${nonce}.`,
      `\x1e${nonce}r99999:E 0`,
      `__hermetic_nonce=${nonce}\n`,
      '\x1e'.repeat(100),
    ]) {
      expect(split(...inPieces(output))).toEqual([['bytes', output]]);
    }
  });

  it('passes bytes on at once that cannot start a frame', () => {
    const { heard, push } = listen();
    for (const piece of ['prompt> ', 'é\n', '\0', `${nonce}`, '\x1e1', 'x']) {
      push(piece);
      expect(heard.splice(0)).toEqual([['bytes', piece]]);
    }
  });

  it('holds back only bytes that may still become a frame', () => {
    const { heard, push, end } = listen();
    push(`text\x1e${nonce.slice(0, 5)}`);
    expect(heard).toEqual([['bytes', 'text']]);
    push('!');
    expect(heard).toEqual([['bytes', `text\x1e${nonce.slice(0, 5)}!`]]);
    push(`\x1e${nonce}r5:E`);
    end();
    expect(heard).toEqual([['bytes', `text\x1e${nonce.slice(0, 5)}!\x1e${nonce}r5:E`]]);
  });

  it('rejects a frame with other output inside, and accepts the next one', () => {
    const piece = frame('p', 'x'.repeat(500));
    for (let round = 0; round < 100; round++) {
      const at = randomInt(nonce.length + 6, piece.length - nonce.length - 2);
      const damaged = `${piece.slice(0, at)}a log line\n${piece.slice(at)}`;
      expect(split(...inPieces(`before${damaged}after${frame('r', 'E 7')}`))).toEqual([
        ['bytes', 'before'],
        ['damaged', ''],
        ['bytes', 'after'],
        ['frame', 'r E 7'],
      ]);
    }
  });

  it('gives up a frame that never ends', () => {
    const heard = split(`\x1e${nonce}p9:${'x'.repeat(100_000)}`, 'later', frame('r', 'S 1'));
    expect(heard.at(-1)).toEqual(['frame', 'r S 1']);
  });
});
