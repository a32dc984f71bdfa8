import { type Changes, checkChanges } from '../config/edit.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { ModelFailure } from '../core/agent.ts';
import { HermeticError } from '../core/errors.ts';
import { checkModel } from '../models/check.ts';
import { openModel } from '../models/index.ts';
import { type ProviderName, providers } from '../models/providers.ts';
import type { CliIo } from './io.ts';
import { withSettings } from './with-settings.ts';

export interface ModelChoice {
  provider: ProviderName;
  model: string;
  baseUrl: string | undefined;
  /** The variable that holds the key, where it is not the usual one. */
  keyVariable: string | undefined;
  /** undefined: it has none, or is where it should be already. */
  key: string | undefined;
}

export function keyVariableOf({ provider, keyVariable }: Pick<ModelChoice, 'provider' | 'keyVariable'>): string {
  return keyVariable ?? providers[provider].keyVariables[0];
}

/** One call. undefined when the model can be used. */
export async function tryModel({ environment }: LoadedConfig, choice: ModelChoice): Promise<ModelFailure | undefined> {
  const { provider, model, baseUrl, keyVariable, key } = choice;
  const variables = key === undefined ? environment : { ...environment, [keyVariableOf(choice)]: key };
  const checked = await checkModel(await openModel({ provider, model, base_url: baseUrl, api_key_env: keyVariable }, variables));
  return checked.usable ? undefined : checked.failure;
}

/** Throws when it could not be saved, or not be used. */
export function checkChoice(choice: Omit<ModelChoice, 'key'>): void {
  checkChanges(changesFor(choice));
  if (choice.baseUrl === undefined && providers[choice.provider].baseUrl === undefined)
    throw new HermeticError('usage/bad-argument', `${choice.provider} has no default address: --base-url is required.`);
}

/** The key first: a configuration that names a model whose key is missing would be worse than none. */
export async function saveModel(io: CliIo, { config }: LoadedConfig, choice: ModelChoice): Promise<void> {
  checkChoice(choice);
  const { key } = choice;
  const isOther = config.model.provider !== choice.provider || config.model.model !== choice.model;
  // It was said of another model.
  const outdated = isOther ? { 'model.context_tokens': undefined } : {};
  await withSettings(io, async (settings) => {
    if (key !== undefined) await settings.storeSecret(keyVariableOf(choice), key);
    await settings.change({ ...changesFor(choice), ...outdated });
  });
}

function changesFor({ provider, model, baseUrl, keyVariable }: Omit<ModelChoice, 'key'>): Changes {
  return { 'model.provider': provider, 'model.model': model, 'model.base_url': baseUrl, 'model.api_key_env': keyVariable };
}
