import { expect, it } from 'vitest';
import { RecentMessages } from '../../src/channels/recent-messages.ts';

const from = 'Ada';

it('a remembered message is found by its id in its own chat, with its newest text', () => {
  const recent = new RecentMessages();
  recent.add('one', 'A', { from, text: 'first' });
  recent.add('two', 'A', { from, text: 'in another chat' });
  recent.add('one', 'A', { from, text: 'changed' });
  expect(recent.find('one', 'A')).toEqual({ from, text: 'changed' });
  expect(recent.find('two', 'A')).toEqual({ from, text: 'in another chat' });
  expect(recent.find('one', 'B')).toBeUndefined();
});

it('many small messages push out the oldest', () => {
  const recent = new RecentMessages();
  for (let number = 0; number <= 5000; number += 1) recent.add('chat', String(number), { from, text: 'x' });
  expect(recent.find('chat', '0')).toBeUndefined();
  expect(recent.find('chat', '1')).toBeDefined();
});

it.each([
  ['texts', (id: string) => [id, { from, text: 'x'.repeat(300_000) }] as const],
  ['names', (id: string) => [id, { from: 'x'.repeat(300_000), text: '' }] as const],
  ['ids', (id: string) => [id + 'x'.repeat(300_000), { from, text: '' }] as const],
])('a few messages with long %s push out the oldest, and a message that was changed counts once', (_, messageOf) => {
  const recent = new RecentMessages();
  const numbers = Array.from({ length: 8 }, (__, number) => messageOf(String(number)));
  for (const [id, message] of numbers) for (const _again of [1, 2]) recent.add('chat', id, message);
  expect(numbers.filter(([id]) => recent.find('chat', id)).map(([id]) => id[0])).toEqual(['2', '3', '4', '5', '6', '7']);
});
