import { expect, it } from 'vitest';
import { beginningAndEnd, HeadTail } from '../../src/lib/head-tail.ts';

const gap = (characters: number): string => `[${characters}]`;

it('keeps a text that fits unchanged', () => {
  const kept = new HeadTail(100);
  for (let piece = 0; piece < 10; piece++) kept.push('0123456789');
  expect([kept.isCut, kept.text(gap)]).toEqual([false, '0123456789'.repeat(10)]);
});

it('keeps the beginning and the end of a longer text in whole lines, and counts the rest', () => {
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

it('cuts no character in two', () => {
  const kept = new HeadTail(101);
  for (let piece = 0; piece < 1000; piece++) kept.push('😀');
  expect(kept.text(gap)).toMatch(/^(😀)+\n\[\d+\]\n(😀)+$/u);
});

it('cuts no word in two, so that redaction still recognises secrets', () => {
  const kept = new HeadTail(400);
  kept.push('"hunter2-is-the-password",'.repeat(1000));
  for (const part of kept.text(gap).split(/\n\[\d+\]\n/)) expect(part.replaceAll('hunter2-is-the-password', '')).toMatch(/^[",]+$/);
});

it('redacts secrets at the cut, and leaves no half of one', () => {
  for (let offset = 0; offset < 60; offset++) {
    const kept = new HeadTail(1000);
    const text = `${'x'.repeat(offset)}${'hunter2-is-the-password'.padEnd(50, '.').repeat(2000)}`;
    for (let at = 0; at < text.length; at += 777) kept.push(text.slice(at, at + 777));
    const shown = kept.text(gap, (part) => part.replaceAll('hunter2-is-the-password', '*'));
    expect(shown.replace(/\d+/, '')).toMatch(/^x*[*.]+\n\[\]\n[*.]+$/);
  }
});

it('beginningAndEnd never cuts a character in half and counts what is missing', () => {
  const text = '😀'.repeat(100);
  for (let max = 0; max < 20; max++) {
    const cut = beginningAndEnd(text, max);
    expect(cut.isWellFormed()).toBe(true);
    const [, missing] = /\[(\d+) characters left out\]/.exec(cut) ?? [];
    expect(cut.replace(/\n\[.*\]\n/, '').length + Number(missing)).toBe(text.length);
  }
});
