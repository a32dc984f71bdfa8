import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { approvalRulesReference, rules } from '../../src/bash-judge/index.ts';

describe('the page of rules', () => {
  it('matches docs/approval-rules.md (npm run docs)', () => {
    expect(readFileSync(join(import.meta.dirname, '../../docs/approval-rules.md'), 'utf8')).toBe(approvalRulesReference());
  });

  it('lists every rule in the reference', () => {
    const rows = approvalRulesReference().match(/^\| `[a-z]+\/[a-z-]+` \|.*$/gm) ?? [];
    expect(rows).toHaveLength(Object.keys(rules).length);
  });

  it('gives every rule a title and a reason in one sentence', () => {
    for (const [id, { title, why }] of Object.entries(rules)) {
      expect(title, id).toMatch(/^[A-Z][^.|]{3,60}$/);
      expect(why, id).toMatch(/^[A-Z][^.|]{10,140}\.$/);
    }
  });
});
