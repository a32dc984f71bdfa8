import { PassThrough } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { showLinks } from '../../src/cli/link-notices.ts';
import type { Channel, ChannelState } from '../../src/core/channel.ts';

afterEach(() => vi.useRealTimers());

/** The terminal, and what it shows. */
function shownAt(isTTY: boolean, state: { state: ChannelState }): { text: () => string; stop: () => void } {
  vi.useFakeTimers();
  const stream = Object.assign(new PassThrough(), { isTTY });
  const stop = new AbortController();
  let text = '';
  stream.on('data', (chunk) => {
    text += String(chunk);
  });
  const channel = {
    kind: 'whatsapp',
    get state() {
      return state.state;
    },
  } as Channel;
  showLinks([channel], stream, stop.signal);
  return { text: () => text, stop: () => stop.abort() };
}

const linking = (link: { qr?: string; code?: string }): ChannelState => ({ kind: 'linking', since: new Date(), ...link });

it('a terminal shows each new QR code as a picture, and says what to do with it', () => {
  const now = { state: linking({ qr: 'first' }) };
  const { text, stop } = shownAt(true, now);
  expect(text()).toContain('▀');
  expect(text()).toContain('Scan this QR code');
  const once = text();
  vi.advanceTimersByTime(3000);
  expect(text()).toBe(once);
  now.state = linking({ qr: 'second' });
  vi.advanceTimersByTime(1000);
  expect(text().length).toBeGreaterThan(once.length);
  stop();
});

it('a terminal shows the code to enter on the phone', () => {
  const { text, stop } = shownAt(true, { state: linking({ code: 'ABCD-EFGH' }) });
  expect(text()).toBe('hermetic: whatsapp: Enter ABCD-EFGH in the app on your phone: Linked devices, Link with phone number.\n');
  stop();
});

it('what is no terminal, such as the file of a log, gets neither', () => {
  const { text, stop } = shownAt(false, { state: linking({ qr: 'first', code: 'ABCD-EFGH' }) });
  vi.advanceTimersByTime(5000);
  expect(text()).toBe('');
  stop();
});

it('a terminal at which nobody scans is not filled with codes for ever', () => {
  const now = { state: linking({ qr: '0' }) };
  const { text, stop } = shownAt(true, now);
  for (let number = 1; number < 100; number += 1) {
    now.state = linking({ qr: String(number) });
    vi.advanceTimersByTime(1000);
  }
  expect(text().match(/Scan this QR code/g)).toHaveLength(12);
  expect(text().match(/still waits to be linked/g)).toHaveLength(1);
  stop();
});
