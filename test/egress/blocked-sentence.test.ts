import { describe, expect, it } from 'vitest';
import { blockedSentence } from '../../src/core/blocked-connections.ts';
import type { BlockedConnection, BlockReason } from '../../src/core/egress.ts';

const connection = (host: string, reason: BlockReason = 'unlisted', count = 1, port = 443): BlockedConnection => ({
  host,
  port,
  reason,
  count,
});

describe('the sentence about blocked connections', () => {
  it('no sentence is there when no connection failed', () => {
    expect(blockedSentence([])).toBeUndefined();
  });

  it('names each destination with the number of attempts and the reason', () => {
    const sentence = blockedSentence([connection('evil.example', 'unlisted', 3), connection('10.0.0.5', 'private-address', 1, 80)]);
    expect(sentence).toBe(
      'Network: blocked evil.example:443 ×3 (not in network.allow), 10.0.0.5:80 (a private address; network.private can allow it).',
    );
  });

  it('tells failures of the network apart from decisions', () => {
    const sentence = blockedSentence([connection('gone.example', 'unresolved'), connection('bad.example', 'denied')]);
    expect(sentence).toBe('Network: blocked bad.example:443 (in network.deny); could not reach gone.example:443 (no address found).');
  });

  it('names at most eight destinations, decisions first, and counts the others', () => {
    const many = [connection('slow.example', 'unreachable'), ...Array.from({ length: 10 }, (_, n) => connection(`h${n}.example`))];
    const sentence = blockedSentence(many) ?? '';
    expect(sentence.match(/h\d\.example/g)).toHaveLength(8);
    expect(sentence).not.toContain('slow.example');
    expect(sentence).toMatch(/\) and 3 more\.$/);
  });

  it('puts brackets around an IPv6 address', () => {
    expect(blockedSentence([connection('2001:db8::1', 'special-address')])).toContain('[2001:db8::1]:443');
  });

  it('shows only the end of a long name', () => {
    const sentence = blockedSentence([connection(`${'a'.repeat(60)}.${'b'.repeat(60)}.evil.example`)]) ?? '';
    expect(sentence).toContain(`${'b'.repeat(60)}.evil.example:443`);
    expect(sentence).not.toContain('a'.repeat(60));
  });

  it('shows no character that a host name cannot have', () => {
    expect(blockedSentence([connection('\u001b[31m<b>\n`\u202e')])).toBe('Network: blocked ??31m?b????:443 (not in network.allow).');
  });
});
