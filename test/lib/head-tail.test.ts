import { expect, it } from 'vitest';
import { HeadTail } from '../../src/lib/head-tail.ts';

const gap = (characters: number): string => `[${characters}]`;

it('a text that fits is kept as it is', () => {
  const kept = new HeadTail(100);
  for (let piece = 0; piece < 10; piece++) kept.push('0123456789');
  expect([kept.isCut, kept.text(gap)]).toEqual([false, '0123456789'.repeat(10)]);
});

it('of a longer one the beginning and the end are kept, in whole lines, and what is missing is counted', () => {
  const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`);
  const kept = new HeadTail(500);
  for (const line of lines) kept.push(line);
  const text = kept.text(gap);
  const [head = '', missing, tail = ''] = text.split(/\[(\d+)\]\n/);
  expect(lines.join('').startsWith(head) && lines.join('').endsWith(tail)).toBe(true);
  expect(head.length + tail.length + Number(missing)).toBe(lines.join('').length);
  expect(tail).toMatch(/^line \d+\n/);
  expect(head).toMatch(/line \d+\n$/);
});

it('no character is cut in two', () => {
  const kept = new HeadTail(101);
  for (let piece = 0; piece < 1000; piece++) kept.push('😀');
  expect(kept.text(gap)).toMatch(/^(😀)+\n\[\d+\]\n(😀)+$/u);
});

it('no word is cut in two, which nobody would know for a secret any more', () => {
  const kept = new HeadTail(400);
  kept.push('"hunter2-is-the-password",'.repeat(1000));
  for (const part of kept.text(gap).split(/\n\[\d+\]\n/)) expect(part.replaceAll('hunter2-is-the-password', '')).toMatch(/^[",]+$/);
});

it('what is hidden is hidden also where the text is cut, and no half of it is left', () => {
  for (let offset = 0; offset < 60; offset++) {
    const kept = new HeadTail(1000);
    const text = `${'x'.repeat(offset)}${'hunter2-is-the-password'.padEnd(50, '.').repeat(2000)}`;
    for (let at = 0; at < text.length; at += 777) kept.push(text.slice(at, at + 777));
    const shown = kept.text(gap, (part) => part.replaceAll('hunter2-is-the-password', '*'));
    expect(shown.replace(/\d+/, '')).toMatch(/^x*[*.]+\n\[\]\n[*.]+$/);
  }
});
