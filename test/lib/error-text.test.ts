import { expect, it } from 'vitest';
import { errorText } from '../../src/lib/error-text.ts';

it('errorText gives the message of an error and of its subclasses', () => {
  expect(errorText(new TypeError('no such thing'))).toBe('no such thing');
});

it.each([
  ['a string', 'a string'],
  [undefined, 'undefined'],
  [null, 'null'],
  [7, '7'],
])('errorText turns the thrown value %j into text', (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});
