import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configExample } from '../../src/config/example.ts';
import { configKeys } from '../../src/config/keys.ts';
import { configReference, errorReference } from '../../src/config/reference.ts';
import { errorCodes } from '../../src/core/errors.ts';

const root = join(import.meta.dirname, '../..');

describe('the generated reference', () => {
  test('docs/config.md is fresh (npm run docs)', () => {
    expect(readFileSync(join(root, 'docs/config.md'), 'utf8')).toBe(configReference());
  });

  test('docs/errors.md is fresh (npm run docs)', () => {
    expect(readFileSync(join(root, 'docs/errors.md'), 'utf8')).toBe(errorReference());
  });

  test('docs/config.example.yaml is fresh (npm run docs)', () => {
    expect(readFileSync(join(root, 'docs/config.example.yaml'), 'utf8')).toBe(configExample());
  });

  test('generate-docs --check accepts the committed pages', () => {
    expect(() => execFileSync(process.execPath, [join(root, 'scripts/generate-docs.ts'), '--check'])).not.toThrow();
  });

  test('the reference has one complete row for every key', () => {
    const rows = configReference().match(/^\| `\w+(?:\.\w+)?` \| `[A-Z_]+` \|.*$/gm) ?? [];
    expect(rows).toHaveLength(configKeys.length);
    for (const [index, row] of rows.entries()) {
      const cells = row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim());
      expect(cells.slice(0, 2)).toEqual([`\`${configKeys[index]?.name}\``, `\`${configKeys[index]?.variable}\``]);
      expect(cells).toHaveLength(5);
      expect(cells).not.toContain('');
    }
  });

  test('the reference has a row for every error', () => {
    for (const code of Object.keys(errorCodes)) expect(errorReference()).toContain(`| \`${code}\` | `);
  });
});
