import { expect, it } from 'vitest';
import { printable } from '../../src/lib/printable.ts';

it.each([
  ['one line\r\nand another', 'one line and another'],
  ['\u001b[2Jcleared\u0007', '[2Jcleared'],
  ['turned \u202eround', 'turned  round'],
  ['lines\u2028of\u2029Unicode', 'lines of Unicode'],
  ['half \ud800 a sign', 'half   a sign'],
  ['private \ue000 sign', 'private   sign'],
  ['größer 🎉', 'größer 🎉'],
])('printable makes of %j text on one line that no terminal obeys', (text, shown) => {
  expect(printable(text)).toBe(shown);
});
