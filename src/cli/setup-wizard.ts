import type { Readable, Writable } from 'node:stream';
import * as clack from '@clack/prompts';
import type { ChannelDriver } from '../channels/driver.ts';
import type { SetupField } from '../channels/setup.ts';
import type { LoadedConfig } from '../config/load.ts';
import { HermeticError } from '../core/errors.ts';
import { type ProviderName, providers } from '../models/providers.ts';
import type { CliIo } from './io.ts';
import { keyVariableOf, type ModelChoice, saveModel, tryModel } from './model-setup.ts';
import { isEnabled, knownValue, platforms, savePlatform, tryPlatform, whereWritten } from './platform-setup.ts';

/** Somebody pressed Ctrl-C or Escape. */
class Cancelled extends Error {}

interface Streams {
  input: Readable;
  output: Writable;
}

const hints: Readonly<Record<ProviderName, string>> = {
  anthropic: 'Claude; needs an Anthropic key',
  openai: 'needs an OpenAI key',
  google: 'Gemini; needs a Google AI Studio key',
  openrouter: 'models of many providers; needs an OpenRouter key',
  ollama: 'on this machine, no key',
  'openai-compatible': 'any other server, by its address',
};

/** Asks, tries, writes. False when the person cancelled; it tells what was written before that. */
export async function setupWizard(io: CliIo, loaded: LoadedConfig): Promise<boolean> {
  const on = streamsOf(io);
  clack.intro('Hermetic', on);
  try {
    await modelStep(io, loaded);
    await platformSteps(io, loaded);
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    clack.cancel('Cancelled. Nothing else was changed.', on);
    return false;
  }
  clack.outro('Done.', on);
  return true;
}

/** Asks for one value. `isSecret`: it is not shown. */
export async function askFor(io: CliIo, message: string, isSecret: boolean): Promise<string> {
  try {
    const prompt = isSecret ? clack.password : clack.text;
    return await ask(prompt({ message, ...streamsOf(io) }));
  } catch (error) {
    if (error instanceof Cancelled) throw new HermeticError('usage/bad-argument', 'Cancelled. Nothing was written.');
    throw error;
  }
}

async function modelStep(io: CliIo, loaded: LoadedConfig): Promise<void> {
  const on = streamsOf(io);
  const { model: now } = loaded.config;
  const skip = 'none' as const;
  const names: readonly ProviderName[] = ['anthropic', 'openai', 'google', 'openrouter', 'ollama', 'openai-compatible'];
  const provider = await ask(
    clack.select<ProviderName | typeof skip>({
      message: 'Which provider?',
      options: [
        ...names.map((value) => ({ value, label: value, hint: hints[value] })),
        { value: skip, label: 'none', hint: now.provider ? 'leave it as it is' : '/run and /python work without' },
      ],
      ...(now.provider && { initialValue: now.provider }),
      ...on,
    }),
  );
  if (provider === skip) return;
  const baseUrl = await askAddress(on, provider, now.provider === provider ? now.base_url : undefined);
  for (;;) {
    const choice = await askModel(on, loaded, provider, baseUrl);
    const next = await tried(on, () => tryModel(loaded, choice).then((failure) => failure && problemText(failure)));
    if (next === 'again') continue;
    if (next === 'stop') throw new Cancelled();
    await saveModel(io, loaded, choice);
    clack.log.success(`Saved in ${loaded.files.config}${choice.key === undefined ? '' : ` and ${loaded.files.dotenv}`}.`, {
      output: on.output,
    });
    return;
  }
}

async function askAddress(on: Streams, provider: ProviderName, now: string | undefined): Promise<string | undefined> {
  const own = providers[provider].baseUrl;
  if (own !== undefined && provider !== 'ollama' && now === undefined) return undefined;
  const initialValue = now ?? own;
  const said = await ask(
    clack.text({
      message: 'What is its address?',
      placeholder: 'http://127.0.0.1:8080/v1',
      ...(initialValue !== undefined && { initialValue }),
      validate: (value) =>
        /^https?:\/\//.test(value ?? '') && URL.canParse(value ?? '') ? undefined : 'An address that begins with http:// or https://',
      ...on,
    }),
  );
  return said === own ? undefined : said;
}

async function askModel(on: Streams, loaded: LoadedConfig, provider: ProviderName, baseUrl: string | undefined): Promise<ModelChoice> {
  const { model: now } = loaded.config;
  const keyVariable = now.provider === provider ? now.api_key_env : undefined;
  const model = await ask(
    clack.text({
      message: 'Which model? Enter its name as the provider spells it.',
      ...(now.provider === provider && now.model !== undefined && { initialValue: now.model }),
      validate: (value) => (value?.trim() ? undefined : 'A name is needed.'),
      ...on,
    }),
  );
  const variable = keyVariableOf({ provider, keyVariable });
  const { needsKey } = providers[provider];
  const known = loaded.environment[variable] !== undefined;
  const isKept = known && (await ask(clack.confirm({ message: `Use the key in ${variable}?`, ...on })));
  const key = isKept
    ? undefined
    : await ask(
        clack.password({
          message: needsKey ? `The key (it becomes ${variable} in .env)` : 'Its key; leave it empty if it needs none',
          validate: (value) =>
            needsKey && !value?.trim() ? 'A key is needed.' : /\s/.test(value?.trim() ?? '') ? 'A key is one word.' : undefined,
          ...on,
        }),
      );
  return { provider, model: model.trim(), baseUrl, keyVariable, key: key?.trim() || undefined };
}

/** One platform after another, until the person wants no more. */
async function platformSteps(io: CliIo, loaded: LoadedConfig): Promise<void> {
  const connected = new Set(platforms.filter((driver) => isEnabled(loaded, driver)));
  for (;;) {
    const others = platforms.filter((driver) => !connected.has(driver));
    if (others.length === 0) return;
    const chosen = await ask(
      clack.select<ChannelDriver | 'none'>({
        message: connected.size > 0 ? 'Connect another platform?' : 'Connect a platform?',
        options: [
          { value: 'none', label: 'none', hint: 'the page and the terminal need none' },
          ...others.map((driver) => ({ value: driver, label: driver.name, hint: driver.summary })),
        ],
        ...streamsOf(io),
      }),
    );
    if (chosen === 'none') return;
    await platformStep(io, loaded, chosen);
    connected.add(chosen);
  }
}

async function platformStep(io: CliIo, loaded: LoadedConfig, driver: ChannelDriver): Promise<void> {
  const on = streamsOf(io);
  const setup = await driver.setup();
  clack.note(setup.steps.map((step, index) => `${index + 1}. ${step}`).join('\n'), driver.name, { output: on.output });
  for (;;) {
    const entered = new Map<string, string>();
    for (const field of setup.fields) {
      const value = await askField(on, loaded, driver, field);
      if (value !== undefined) entered.set(field.option, value);
    }
    const choice = { driver, setup, entered };
    const next = await tried(on, async () => {
      clack.log.info(await tryPlatform(loaded, choice), { output: on.output });
      return undefined;
    });
    if (next === 'again') continue;
    if (next === 'stop') throw new Cancelled();
    await savePlatform(io, loaded, choice);
    clack.log.success(`${driver.name} is enabled. ${setup.next}`, { output: on.output });
    return;
  }
}

/** undefined when what is there already is to be used. */
async function askField(on: Streams, loaded: LoadedConfig, driver: ChannelDriver, field: SetupField): Promise<string | undefined> {
  const { option, message, problem } = field;
  const known = knownValue(loaded, driver, option);
  const validate = (value: string | undefined): string | undefined => (value?.trim() ? problem?.(value.trim()) : 'A value is needed.');
  if (!driver.secrets.includes(option)) {
    const said = await ask(clack.text({ message, ...(known !== undefined && { initialValue: known }), validate, ...on }));
    return said.trim();
  }
  const variable = whereWritten(loaded, driver, option);
  if (known !== undefined && (await ask(clack.confirm({ message: `Use what is in ${variable}?`, ...on })))) return undefined;
  return (await ask(clack.password({ message: `${message} (it becomes ${variable} in .env)`, validate, ...on }))).trim();
}

/** Resolves with what to do. `work` resolves or rejects with what is wrong. */
async function tried(on: Streams, work: () => Promise<string | undefined>): Promise<'again' | 'save' | 'stop'> {
  const spinner = clack.spinner({ output: on.output });
  spinner.start('Trying it');
  const problem = await work().catch((error: unknown) => {
    if (error instanceof HermeticError) return problemText(error);
    spinner.error('The test failed.');
    throw error;
  });
  if (problem === undefined) {
    spinner.stop('It answers.');
    return 'save';
  }
  spinner.error(problem);
  return await ask(
    clack.select<'again' | 'save' | 'stop'>({
      message: 'What now?',
      options: [
        { value: 'again', label: 'Enter it again' },
        { value: 'save', label: 'Save it anyway' },
        { value: 'stop', label: 'Stop', hint: 'nothing is written' },
      ],
      ...on,
    }),
  );
}

function problemText({ message, hint }: { message: string; hint?: string | undefined }): string {
  return hint ? `${message}\n${hint}` : message;
}

async function ask<T>(prompt: Promise<T>): Promise<Exclude<T, symbol>> {
  const said = await prompt;
  if (clack.isCancel(said)) throw new Cancelled();
  return said as Exclude<T, symbol>;
}

function streamsOf({ stdin, stdout }: CliIo): Streams {
  return { input: stdin as Readable, output: stdout as Writable };
}
