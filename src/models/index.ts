import type { LanguageModel } from 'ai';
import type { Model } from '../core/agent.ts';
import { HermeticError } from '../core/errors.ts';
import { hermetic } from '../lib/own-command.ts';
import { remember } from '../lib/remember.ts';
import { explain } from './explain.ts';
import { fetchFor } from './fetch.ts';
import { namedPrices, type PriceSettings, priceOf, pricesOf } from './prices.ts';
import { type Provider, type ProviderName, providers } from './providers.ts';

/** The first that fits the name counts. Where providers offer several sizes it is the one that everybody has. */
const knownContextTokens: readonly (readonly [RegExp, number])[] = [
  [/claude/, 200_000],
  [/gemini/, 1_000_000],
  [/gpt-4\.1/, 1_000_000],
  [/gpt-[5-9]/, 270_000],
  [/gpt-4o|gpt-4-turbo|gpt-oss/, 128_000],
  [/(^|\/)o[1-9]/, 200_000],
  [/grok|deepseek|glm|kimi|minimax|qwen3-coder/, 128_000],
];

export const usualStallSeconds = 90;
/** Small enough for nearly every model. One that takes even less says so, and the agent shortens what it sends. */
const usualContextTokens = 32_000;

/** The section `model` of the configuration. */
export interface ModelSettings {
  provider?: ProviderName | undefined;
  model?: string | undefined;
  base_url?: string | undefined;
  api_key_env?: string | undefined;
  context_tokens?: number | undefined;
  prices?: PriceSettings | undefined;
  stall_seconds?: number | undefined;
}

/** The settings for another model of the same provider, such as `/model` chooses. */
export function settingsFor(settings: ModelSettings, choice: string | undefined): ModelSettings {
  if (choice === undefined || choice === settings.model) return settings;
  return { ...settings, model: choice, prices: namedPrices(settings.prices) };
}

/**
 * A model, as it is configured. Sends nothing: whether it answers is for `checkModel`. Throws `model/unusable` when something is missing, with
 * what to do about it.
 */
export async function openModel(settings: ModelSettings, variables: Readonly<Record<string, string | undefined>>): Promise<Model> {
  const { provider: name, model } = settings;
  if (!name) throw unusable('No model is configured.', `Run \`${hermetic} setup\`, or set model.provider and model.model.`);
  const provider = providers[name];
  if (!model)
    throw unusable(
      `model.model is not set, so it is unknown which model of ${name} to use.`,
      `Run \`${hermetic} setup\`, or set model.model.`,
    );
  const baseUrl = (settings.base_url ?? provider.baseUrl)?.replace(/\/+$/, '');
  if (!baseUrl)
    throw unusable(`model.base_url is not set, and ${name} has no default address.`, `Run \`${hermetic} setup\`, or set model.base_url.`);
  const { keyVariable, apiKey } = keyFor(provider, settings, variables);
  if (!apiKey && (provider.needsKey || settings.api_key_env !== undefined)) {
    throw unusable(`There is no key for ${name}: ${keyVariable} is not set.`, `Set ${keyVariable} in .env, or run \`${hermetic} setup\`.`);
  }
  const prices = pricesOf(settings.prices, model);
  // It would print warnings about unsupported settings to standard error.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  const stallMs = (settings.stall_seconds ?? usualStallSeconds) * 1000;
  return {
    id: `${name}/${model}`,
    language: await languageOf(name, model, baseUrl, apiKey, stallMs),
    contextTokens: settings.context_tokens ?? contextTokensOf(model),
    settings: provider.settings,
    cacheMark: provider.cacheMark?.(model),
    stallMs,
    cost: (usage, metadata) => reportedCost(metadata) ?? (prices && priceOf(usage, prices)),
    explain: (error) => explain(error, { title: provider.title, model, baseUrl, keyVariable, apiKey }),
  };
}

function contextTokensOf(model: string): number {
  const name = model.toLowerCase();
  return knownContextTokens.find(([pattern]) => pattern.test(name))?.[1] ?? usualContextTokens;
}

/** Each one makes a schema of what the provider answers, which takes longer than everything else here. */
const languageOf = remember(
  async (name: ProviderName, model: string, baseUrl: string, apiKey: string | undefined, stallMs: number): Promise<LanguageModel> =>
    providers[name].load({ model, baseUrl, apiKey, fetch: await fetchFor(stallMs) }),
);

function keyFor(provider: Provider, settings: ModelSettings, variables: Readonly<Record<string, string | undefined>>) {
  const names = settings.api_key_env === undefined ? provider.keyVariables : ([settings.api_key_env] as const);
  const keyVariable = names.find((name) => variables[name]) ?? names[0];
  return { keyVariable, apiKey: variables[keyVariable] || undefined };
}

/** The cost that the provider itself reports. */
function reportedCost(metadata: Readonly<Record<string, unknown>> | undefined): number | undefined {
  const { openrouter } = (metadata ?? {}) as { openrouter?: { usage?: { cost?: unknown } } };
  return typeof openrouter?.usage?.cost === 'number' ? openrouter.usage.cost : undefined;
}

function unusable(message: string, hint: string): HermeticError {
  return new HermeticError('model/unusable', message, { hint });
}
