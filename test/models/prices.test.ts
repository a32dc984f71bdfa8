import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { openModel, settingsFor } from '../../src/models/index.ts';
import { startRig } from '../agent/turn-rig.ts';

const prices = { input: 3, output: 15, cached_input: 0.3 };

describe('model costs', () => {
  const script = () => ({ pieces: [{ text: 'Yes.' }], usage: { input: 1_000_000, cached: 400_000, output: 100_000 } });

  it.each(['openai-compatible', 'anthropic', 'openai', 'google', 'openrouter', 'ollama'] as const)(
    'computes the cost from the tokens that %s counts, with cached input apart',
    async (provider) => {
      await using rig = await startRig(script, { provider, model: 'm', prices });
      await rig.run('go');
      expect(rig.usages[0]?.cost).toBeCloseTo(0.6 * 3 + 0.4 * 0.3 + 0.1 * 15, 6);
      await using free = await startRig(script, { provider, model: 'm' });
      await free.run('go');
      expect(free.usages[0]).toMatchObject({ inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000, cost: undefined });
    },
  );

  it('charges input that Anthropic writes to its cache by a price of its own, and counts it apart', async () => {
    const writing = () => ({ pieces: [{ text: 'Yes.' }], usage: { input: 1_000_000, cached: 400_000, written: 200_000, output: 100_000 } });
    const costOf = async (written: object) => {
      await using rig = await startRig(writing, { provider: 'anthropic', model: 'm', prices: { ...prices, ...written } });
      await rig.run('go');
      expect(rig.usages[0]).toMatchObject({ inputTokens: 1_000_000, cachedTokens: 400_000, writtenTokens: 200_000 });
      return rig.usages[0]?.cost;
    };
    expect(await costOf({ cache_write: 3.75 })).toBeCloseTo(0.4 * 3 + 0.4 * 0.3 + 0.2 * 3.75 + 0.1 * 15, 6);
    expect(await costOf({})).toBeCloseTo(0.6 * 3 + 0.4 * 0.3 + 0.1 * 15, 6);
  });

  it('charges cached input as input when it has no price of its own', async () => {
    await using rig = await startRig(script, { prices: { input: 3, output: 15 } });
    await rig.run('go');
    expect(rig.usages[0]?.cost).toBeCloseTo(3 + 1.5, 6);
  });

  it('prefers the cost that the provider reports', async () => {
    const model = await openModel({ provider: 'openrouter', model: 'm', prices }, { OPENROUTER_API_KEY: 'key' });
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cachedTokens: 0, writtenTokens: 0 };
    expect(model.cost(usage, { openrouter: { usage: { cost: 0.25 } } })).toBe(0.25);
    expect(model.cost(usage, {})).toBe(3);
  });

  it('takes the prices of the model by its name, and knows no cost without a price', async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cachedTokens: 0, writtenTokens: 0 };
    const base = { provider: 'ollama', model: 'one' } as const;
    const cost = async (settings: Parameters<typeof settingsFor>[0], choice?: string) =>
      (await openModel(settingsFor(settings, choice), {})).cost(usage, undefined);
    const named = { ...base, prices: { one: { input: 1, output: 2 }, two: { input: 2, output: 3 } } };
    expect([await cost(named), await cost(named, 'two'), await cost(named, 'three'), await cost(named, 'toString')]).toEqual([
      1,
      2,
      undefined,
      undefined,
    ]);
    const plain = { ...base, prices };
    expect([await cost(plain), await cost(plain, 'one'), await cost(plain, 'two')]).toEqual([3, 3, undefined]);
  });
});

describe('model.prices', () => {
  const load = (text: string, environment: Record<string, string> = {}) => {
    const home = mkdtempSync(join(tmpdir(), 'hermetic-prices-'));
    try {
      writeFileSync(join(home, 'config.yaml'), text, { mode: 0o600 });
      return loadConfig({ environment: { HOME: home, HERMETIC_HOME: home, ...environment } }).config.model.prices;
    } finally {
      rmSync(home, { recursive: true });
    }
  };

  it('accepts prices as one map, as a map per model, and as JSON in the environment', () => {
    expect(load('model:\n  prices: { input: 3, output: 15, cached_input: 0.3 }\n')).toEqual(prices);
    expect(load('model:\n  prices:\n    claude-x: { input: 3, output: 15 }\n')).toEqual({ 'claude-x': { input: 3, output: 15 } });
    expect(load('', { HERMETIC_MODEL_PRICES: JSON.stringify(prices) })).toEqual(prices);
    expect(load('')).toBeUndefined();
  });

  it.each([
    '{ input: 3 }',
    '{ input: 3, output: -1 }',
    '{ input: 3, output: 4, cached: 1 }',
    '{ m: { input: 3 } }',
    '{ input: 3, output: 1, m: { input: 1, output: 1 } }',
    '3',
  ])('refuses the prices %s', (text) => {
    expect(() => load(`model:\n  prices: ${text}\n`)).toThrow(/model\.prices/);
  });

  it.each([
    ['{ gpt-x: { inptu: 1, output: 2 } }', 'config.yaml:2:29: model.prices.gpt-x.inptu is not a key. Did you mean input?'],
    ['{ gpt-x: { input: 1, output: 2, surcharge: 3 } }', 'model.prices.gpt-x.surcharge is not a key.'],
    ['{ gpt-x: { input: 1 } }', 'model.prices.gpt-x.output must be a price, 0 or more, not nothing.'],
    ['{ inptu: 1, output: 2 }', 'config.yaml:2:20: model.prices.inptu is not a key. Did you mean input?'],
    ['{ inptu: 1, outptu: 2 }', 'model.prices.outptu is not a key. Did you mean output?'],
    ['{ gpt-x: 1 }', 'one model has input and output, and several have a map each'],
    ['{ input: 1, output: 2, surcharge: 3 }', 'model.prices.surcharge is not a key.'],
  ])('names the mistake in the prices %s', (text, sentence) => {
    expect(() => load(`model:\n  prices: ${text}\n`)).toThrow(sentence);
  });
});
