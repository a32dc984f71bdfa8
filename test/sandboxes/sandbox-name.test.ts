import { describe, expect, it } from 'vitest';
import { sandboxName } from '../../src/sandboxes/request.ts';

describe('the name of a sandbox', () => {
  it('makes a harmless sandbox name from any session name', () => {
    for (const session of ['', '../..', 'a\0b', '$(reboot)', 'ä'.repeat(10_000)])
      expect(sandboxName('id', [session])).toMatch(/^[0-9a-f]{24}$/);
  });

  it('gives different names to sessions whose parts join to the same text', () => {
    const names = [['a', 'b:c'], ['a:b', 'c'], ['a', 'b', 'c'], ['a:b:c'], ['a', 'b', 'c', '']].map((parts) => sandboxName('id', parts));
    expect(new Set(names).size).toBe(names.length);
  });

  it('gives a session different names in different installations', () => {
    expect(sandboxName('one', ['x'])).not.toBe(sandboxName('two', ['x']));
    expect(sandboxName('one', ['x'])).toBe(sandboxName('one', ['x']));
  });
});
