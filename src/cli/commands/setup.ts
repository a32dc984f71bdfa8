import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { HermeticError } from '../../core/errors.ts';
import { type ProviderName, providers } from '../../models/providers.ts';
import { type CliIo, commandOn } from '../io.ts';
import { checkChoice, keyVariableOf, type ModelChoice, saveModel, tryModel } from '../model-setup.ts';
import { runningGateway } from '../running-gateway.ts';
import { saveTelegram, tryTelegram } from '../telegram-setup.ts';

const explanation = `
At a terminal, without options, it asks. With options it asks nothing but, at a terminal, for a secret that is missing.

A key is taken from the variable of its provider in the environment, or else from standard input when that is piped. The model is tried with
one call before anything is written; --no-test writes without. The key goes to .env, everything else to config.yaml.

Examples:
  hermetic setup
  hermetic setup --provider anthropic --model NAME < key.txt
  hermetic setup --provider openai-compatible --base-url http://127.0.0.1:8080/v1 --model NAME
  TELEGRAM_BOT_TOKEN=123456:ABC hermetic setup --telegram`;

interface SetupOptions {
  provider?: ProviderName;
  model?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  telegram?: boolean;
  test: boolean;
}

export function setupCommand(io: CliIo): Command {
  return commandOn(io, 'setup')
    .description('choose a model, test its key, and connect chats')
    .addOption(new Option('--provider <name>', 'the provider of the model').choices(Object.keys(providers)))
    .option('--model <name>', "the model's name, as the provider spells it")
    .option('--base-url <url>', "its address, if it is not the provider's own")
    .option('--api-key-env <NAME>', "the variable that holds the key, if it is not the provider's usual one")
    .option('--telegram', 'connect a Telegram bot')
    .option('--no-test', 'write without a test call')
    .addHelpText('after', explanation)
    .action(async (options: SetupOptions) => await setup(io, options));
}

async function setup(io: CliIo, options: SetupOptions): Promise<void> {
  const loaded = loadConfig({ environment: io.environment });
  const isAsking = !options.provider && !options.model && !options.baseUrl && !options.apiKeyEnv && !options.telegram;
  if (isAsking) {
    if (!atTerminal(io)) throw new HermeticError('usage/bad-argument', 'Without a terminal, --provider and --model are required.');
    const { setupWizard } = await import('../setup-wizard.ts');
    if (!(await setupWizard(io, loaded))) return io.setExitCode(130);
  } else {
    if (options.provider || options.model || !options.telegram) await model(io, loaded, options);
    if (options.telegram) await telegram(io, loaded, options.test);
  }
  await tellWhatIsNext(io, loaded);
}

async function model(io: CliIo, loaded: LoadedConfig, { provider, model: name, baseUrl, apiKeyEnv, test }: SetupOptions): Promise<void> {
  if (!provider || !name) throw new HermeticError('usage/bad-argument', '--provider and --model are both required.');
  const wanted = { provider, model: name, baseUrl, keyVariable: apiKeyEnv };
  checkChoice(wanted);
  const variable = keyVariableOf(wanted);
  const isNeeded = providers[provider].needsKey || apiKeyEnv !== undefined;
  const choice: ModelChoice = { ...wanted, key: await secret(io, loaded, variable, isNeeded) };
  if (test) {
    const failure = await tryModel(loaded, choice);
    if (failure) {
      const hint = `${failure.hint ? `${failure.hint} ` : ''}Nothing was written; --no-test writes it anyway.`;
      throw new HermeticError(failure.code, failure.message, { hint });
    }
    io.stdout.write(`${provider}/${name} answers.\n`);
  }
  saveModel(loaded, choice);
  io.stdout.write(`The model is ${provider}/${name}, in ${loaded.files.config}.\n`);
  if (choice.key !== undefined) io.stdout.write(`Its key is ${variable}, in ${loaded.files.dotenv}.\n`);
}

async function telegram(io: CliIo, loaded: LoadedConfig, isTested: boolean): Promise<void> {
  const { token_env: variable } = loaded.config.telegram;
  const token = (await secret(io, loaded, variable, true)) ?? loaded.environment[variable];
  if (token === undefined) throw new HermeticError('usage/bad-argument', `There is no token: ${variable} is not set.`);
  if (isTested) io.stdout.write(`The bot is @${await tryTelegram(loaded, token)}.\n`);
  saveTelegram(loaded, token);
  io.stdout.write(`Telegram is enabled in ${loaded.files.config}; its token is ${variable}, in ${loaded.files.dotenv}.\n`);
}

/** undefined when there is none, or when it is in `.env` already. */
async function secret(io: CliIo, { environment }: LoadedConfig, variable: string, isNeeded: boolean): Promise<string | undefined> {
  const given = io.environment[variable]?.trim() || (isTerminal(io.stdin) ? undefined : (await readAll(io.stdin)).trim());
  if (given) {
    if (/\s/.test(given)) throw new HermeticError('usage/bad-argument', `The value for ${variable} contains spaces.`);
    return given;
  }
  if (environment[variable] !== undefined || !isNeeded || !atTerminal(io)) return undefined;
  const { askSecret } = await import('../setup-wizard.ts');
  return await askSecret(io, variable);
}

async function tellWhatIsNext(io: CliIo, before: LoadedConfig): Promise<void> {
  const { config, origins, home } = loadConfig({ environment: io.environment });
  for (const key of ['model.provider', 'model.model', 'model.base_url'] as const) {
    const { source } = origins[key] ?? {};
    if (source === 'environment' || source === '.env')
      io.stderr.write(`note: ${key} is also set by ${source}, which overrides config.yaml\n`);
  }
  if (JSON.stringify(config.model) === JSON.stringify(before.config.model) && config.telegram.enabled === before.config.telegram.enabled)
    return;
  if (await runningGateway(home))
    io.stdout.write('The running gateway uses the model from now on. It connects to a new platform at its next start.\n');
  else io.stdout.write('Next: hermetic start, or hermetic chat.\n');
}

function atTerminal({ stdin, stdout }: CliIo): boolean {
  return isTerminal(stdin) && isTerminal(stdout);
}

function isTerminal(stream: unknown): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true;
}
