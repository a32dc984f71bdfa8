import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configKeys } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config/load.ts';

const example = readFileSync(join(import.meta.dirname, '../../docs/config.example.yaml'), 'utf8');
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hermetic-example-'));
});
afterEach(() => rm(home, { recursive: true }));

function load(text: string) {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'config.yaml'), text);
  return loadConfig({ environment: { HERMETIC_HOME: home, HOME: home } });
}

describe('the example configuration', () => {
  test('the example configuration sets nothing as it is', () => {
    const { config, origins } = load(example);
    expect(new Set(Object.values(origins).map(({ source }) => source))).toEqual(new Set(['default']));
    expect(config).toEqual(load('').config);
  });

  test('the example configuration without comment signs sets every key to its default', () => {
    const { config, origins } = load(example.replace(/^( *)#(?=\S)/gm, '$1'));
    expect(config).toEqual(load('').config);
    const set = configKeys.filter(({ name }) => origins[name]?.source === 'config.yaml');
    expect(set.map(({ name }) => name)).toEqual(configKeys.filter(({ fallback }) => fallback !== undefined).map(({ name }) => name));
  });

  test('the example configuration describes every key', () => {
    for (const { key, section } of configKeys) expect(example).toMatch(new RegExp(`^( *)# .*\\n\\1#${key ?? section}: `, 'm'));
  });
});
