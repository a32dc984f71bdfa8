import { describe, expect, it } from 'vitest';
import { placeholderFor } from '../../src/egress/bound-secret.ts';
import { redactor } from '../../src/lib/redact.ts';

describe('redact', () => {
  const redact = redactor(['hunter2-and-more', 'short', 'hunter2-and', 'two words & more', 'first line of it\nsecond line of it']);

  it('redacts known values in any place and encoding', () => {
    expect(redact('a hunter2-and-more b hunter2-and c')).toBe('a [redacted] b [redacted] c');
    expect(redact(`x${Buffer.from('hunter2-and-more').toString('base64')}`)).toMatch(/^x\[redacted\]/);
    expect(redact('q=two%20words%20%26%20more')).toBe('q=[redacted]');
    expect(redact('  second line of it\n')).toBe('  [redacted]\n');
  });

  it('keeps values that are too short to be told from a word', () => {
    expect(redact('a short text')).toBe('a short text');
  });

  it.each([
    ['ghp_', 'a'.repeat(36)],
    ['github_pat_', 'A1'.repeat(30)],
    ['sk-ant-', 'api03-abcdefghijklmnopqrstuv'],
    ['sk-', 'abcdefghijklmnopqrstuvwx'],
    ['sk_live_', 'abcdefghijklmnop1234'],
    ['xoxb-', '123456789012-abcdefghijkl'],
    ['AKIA', 'ABCDEFGHIJKLMNOP'],
    ['AIza', 'x'.repeat(35)],
    ['123456789:', 'x'.repeat(35)],
    ['eyJ', `hbGciOiJIUzI1NiJ9.eyJ${'x'.repeat(20)}.${'y'.repeat(20)}`],
    ['npm_', 'x'.repeat(36)],
    ['glpat-', 'x'.repeat(20)],
    ['xapp-', '1-abcdefghijkl'],
    ['ASIA', 'ABCDEFGHIJKLMNOP'],
    ['ya29.', 'x'.repeat(20)],
    ['MTIz', `${'x'.repeat(20)}.abcdef.${'y'.repeat(27)}`],
    ['SG.', `${'x'.repeat(20)}.${'y'.repeat(20)}`],
    ['pypi-', 'x'.repeat(50)],
    ['hf_', 'x'.repeat(30)],
    ['dop_v1_', 'a1'.repeat(32)],
    ['gsk_', 'x'.repeat(20)],
  ])('redacts tokens that begin with %s', (start, rest) => {
    expect(redact(`token: ${start}${rest} end`)).toBe('token: [redacted] end');
    expect(redact(`${start}${rest}`)).toBe('[redacted]');
  });

  it.each(['', 'ghp_', 'github_pat_', 'glpat-', 'sk-', 'sk-ant-api03-', 'sk-proj-', 'npm_', 'pypi-', 'hf_', 'gsk_', 'xoxb-'])(
    'keeps placeholders that begin with "%s"',
    (prefix) => {
      for (const length of [40, 80, 164]) {
        const placeholder = placeholderFor('TOKEN', length, 'key', prefix);
        expect(redact(`TOKEN=${placeholder} "${placeholder}"`)).toBe(`TOKEN=${placeholder} "${placeholder}"`);
        const stream = redact.begin();
        expect([...placeholder].map((sign) => stream.push(sign)).join('') + stream.end()).toBe(placeholder);
      }
    },
  );

  it('redacts tokens that have the sign of placeholders elsewhere, and tokens beside placeholders', () => {
    const placeholder = placeholderFor('TOKEN', 40, 'key', 'ghp_');
    for (const token of [
      `ghp_x${'hmtc'.repeat(9)}`,
      `ghp_hmt${'a'.repeat(36)}`,
      `sk-${'a'.repeat(16)}-hmtc${'b'.repeat(20)}`,
      `npm_ahmtc${'x'.repeat(31)}`,
    ]) {
      expect(redact(token)).toBe('[redacted]');
      expect(redact(`${placeholder} ${token} ${placeholder}`)).toBe(`${placeholder} [redacted] ${placeholder}`);
    }
  });

  it('redacts keys, passwords in addresses and authorization headers', () => {
    const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----';
    expect(redact(`${key}\nafter`)).toBe('[redacted]\nafter');
    expect(redact('postgres://me:s3cr3t!@db:5432/x')).toBe('postgres://me:[redacted]@db:5432/x');
    expect(redact('Authorization: Bearer abcdefgh12345678')).toBe('Authorization: Bearer [redacted]');
  });

  it('keeps ordinary text unchanged', () => {
    const text =
      'commit 3f2a9c1d0e sk-learn eyJ AKIA http://host:80/path user@host time 12:30:45 sha256:abcdef -----BEGIN CERTIFICATE-----';
    expect(redact(text)).toBe(text);
  });

  it('finishes with hostile texts', () => {
    for (const part of ['eyJ-', 'sk-', 'a:', 'x://y:', '-----BEGIN PRIVATE KEY-----', 'SG.', 'ghp_', '1:']) redact(part.repeat(25_000));
    for (const part of [' ', '\n', 'a.', 'bearer ']) redact(part.repeat(250_000));
    redact(`authorization:${' \t'.repeat(250_000)}basic`);
  });
});
