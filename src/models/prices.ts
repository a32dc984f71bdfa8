import type { Usage } from '../core/conversation.ts';

/** In US dollars per million tokens. */
export interface Prices {
  input: number;
  output: number;
  /** Of input that the provider had kept, and of input that it keeps for later. Without them, that is like other input. */
  cached_input?: number | undefined;
  cache_write?: number | undefined;
}

/** `model.prices`: those of the configured model, or of several by their names. */
export type PriceSettings = Readonly<Record<string, number | Prices>>;

const tokensPerPrice = 1_000_000;

/** undefined where no price is known. */
export function pricesOf(settings: PriceSettings | undefined, model: string): Prices | undefined {
  const { input, output, cached_input, cache_write } = settings ?? {};
  if (typeof input === 'number' && typeof output === 'number') {
    return { input, output, cached_input: numberOf(cached_input), cache_write: numberOf(cache_write) };
  }
  const own = settings && Object.hasOwn(settings, model) ? settings[model] : undefined;
  return typeof own === 'object' ? own : undefined;
}

/** Those that are good for another model than the configured one. */
export function namedPrices(settings: PriceSettings | undefined): PriceSettings | undefined {
  return Object.values(settings ?? {}).some((price) => typeof price === 'number') ? undefined : settings;
}

export function priceOf({ inputTokens, outputTokens, cachedTokens, writtenTokens }: Omit<Usage, 'cost'>, prices: Prices): number {
  const { input, output, cached_input: cachedInput = input, cache_write: cacheWrite = input } = prices;
  const cached = Math.min(cachedTokens, inputTokens);
  const written = Math.min(writtenTokens, inputTokens - cached);
  const plain = inputTokens - cached - written;
  return (plain * input + cached * cachedInput + written * cacheWrite + outputTokens * output) / tokensPerPrice;
}

function numberOf(price: number | Prices | undefined): number | undefined {
  return typeof price === 'number' ? price : undefined;
}
