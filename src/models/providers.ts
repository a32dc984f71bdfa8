import type { LanguageModel } from 'ai';
import type { ProviderSettings } from '../core/agent.ts';

export type ProviderName = 'openai-compatible' | 'anthropic' | 'openai' | 'google' | 'openrouter' | 'ollama';

interface Access {
  model: string;
  baseUrl: string;
  apiKey: string | undefined;
  /** Instead of Node's own. */
  fetch: typeof globalThis.fetch | undefined;
}

/** Whose interface is spoken, and how. Packages are loaded when they are needed. */
export interface Provider {
  readonly title: string;
  /** Its own address; undefined where there is none and one must be configured. */
  readonly baseUrl: string | undefined;
  /** Where its key is looked for, the usual name first. */
  readonly keyVariables: readonly [string, ...string[]];
  readonly needsKey: boolean;
  readonly settings: ProviderSettings;
  cacheMark?(model: string): ProviderSettings | undefined;
  load(access: Access): Promise<LanguageModel>;
}

async function compatible(name: string, { model, baseUrl, apiKey, fetch }: Access): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({
    name,
    baseURL: baseUrl,
    includeUsage: true,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(fetch && { fetch }),
  })(model);
}

export const providers: Readonly<Record<ProviderName, Provider>> = {
  'openai-compatible': {
    title: 'The provider',
    baseUrl: undefined,
    // Security: not OPENAI_API_KEY, which would give the key for one provider to the server at the configured address.
    keyVariables: ['OPENAI_COMPATIBLE_API_KEY'],
    needsKey: false,
    settings: {},
    load: (access) => compatible('compatible', access),
  },
  anthropic: {
    title: 'Anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariables: ['ANTHROPIC_API_KEY'],
    needsKey: true,
    settings: {},
    cacheMark: () => ({ anthropic: { cacheControl: { type: 'ephemeral' } } }),
    async load({ model, baseUrl, apiKey = '', fetch }) {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ baseURL: baseUrl, apiKey, ...(fetch && { fetch }) })(model);
    },
  },
  openai: {
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    keyVariables: ['OPENAI_API_KEY'],
    needsKey: true,
    // Responses stored there are deleted after weeks, and a transcript that refers to one would be refused from then on.
    settings: { openai: { store: false } },
    async load({ model, baseUrl, apiKey = '', fetch }) {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ baseURL: baseUrl, apiKey, ...(fetch && { fetch }) })(model);
    },
  },
  google: {
    title: 'Google',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    needsKey: true,
    settings: {},
    async load({ model, baseUrl, apiKey = '', fetch }) {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ baseURL: baseUrl, apiKey, ...(fetch && { fetch }) })(model);
    },
  },
  openrouter: {
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    needsKey: true,
    settings: { openrouter: { usage: { include: true } } },
    // Others that it passes requests on to keep their input unasked.
    cacheMark: (model) => (model.startsWith('anthropic/') ? { openrouter: { cacheControl: { type: 'ephemeral' } } } : undefined),
    async load({ model, baseUrl, apiKey = '', fetch }) {
      const { createOpenRouter } = await import('@openrouter/ai-sdk-provider');
      return createOpenRouter({ baseURL: baseUrl, apiKey, compatibility: 'strict', ...(fetch && { fetch }) })(model);
    },
  },
  ollama: {
    title: 'Ollama',
    baseUrl: 'http://127.0.0.1:11434/v1',
    keyVariables: ['OLLAMA_API_KEY'],
    needsKey: false,
    settings: {},
    load: (access) => compatible('ollama', access),
  },
};
