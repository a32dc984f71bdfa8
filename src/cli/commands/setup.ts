import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { ChannelDriver } from '../../channels/driver.ts';
import type { ChannelSetup, SetupField } from '../../channels/setup.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';
import { type ProviderName, providers } from '../../models/providers.ts';
import { type CliIo, commandOn } from '../io.ts';
import { checkChoice, keyVariableOf, type ModelChoice, saveModel, tryModel } from '../model-setup.ts';
import { isEnabled, knownValue, optionName, platforms, savePlatform, tryPlatform, whereWritten } from '../platform-setup.ts';
import { runningGateway } from '../running-gateway.ts';

const explanation = `
At a terminal, without options, it asks. With options it asks nothing but, at a terminal, for a secret that is missing.

A key is taken from the variable of its provider in the environment, or else from standard input when that is piped. The model is tried with
one call before anything is written; --no-test writes without. The key goes to .env, everything else to config.yaml.

A platform is connected likewise: its secrets come from their variables, or from standard input, a line for each that is missing. What to do
at the platform before is in docs/channels.

Examples:
  ${hermetic} setup
  ${hermetic} setup --provider anthropic --model NAME < key.txt
  ${hermetic} setup --provider openai-compatible --base-url http://127.0.0.1:8080/v1 --model NAME
  TELEGRAM_BOT_TOKEN=123456:ABC ${hermetic} setup --telegram`;

interface SetupOptions {
  provider?: ProviderName;
  model?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  test: boolean;
}

export function setupCommand(io: CliIo): Command {
  const command = commandOn(io, 'setup')
    .description('choose a model, test its key, and connect chats')
    .addOption(new Option('--provider <name>', 'the provider of the model').choices(Object.keys(providers)))
    .option('--model <name>', "the model's name, as the provider spells it")
    .option('--base-url <url>', "its address, if it is not the provider's own")
    .option('--api-key-env <NAME>', "the variable that holds the key, if it is not the provider's usual one")
    .option('--no-test', 'write without a test call');
  for (const driver of platforms) command.option(`--${optionName(driver)}`, `connect ${driver.name}`);
  return command.addHelpText('after', explanation).action(
    async (options: SetupOptions) =>
      await setup(
        io,
        options,
        platforms.filter((driver) => isWanted(command, driver)),
      ),
  );
}

function isWanted(command: Command, driver: ChannelDriver): boolean {
  const option = command.options.find(({ long }) => long === `--${optionName(driver)}`);
  return option !== undefined && command.getOptionValue(option.attributeName()) === true;
}

async function setup(io: CliIo, options: SetupOptions, wanted: readonly ChannelDriver[]): Promise<void> {
  const loaded = loadConfig({ environment: io.environment });
  const isAsking = !options.provider && !options.model && !options.baseUrl && !options.apiKeyEnv && wanted.length === 0;
  if (isAsking) {
    if (!atTerminal(io)) throw new HermeticError('usage/bad-argument', 'Without a terminal, --provider and --model are required.');
    const { setupWizard } = await import('../setup-wizard.ts');
    if (!(await setupWizard(io, loaded))) return io.setExitCode(130);
  } else {
    if (options.provider || options.model || wanted.length === 0) await model(io, loaded, options);
    const lines =
      wanted.length === 0 || isTerminal(io.stdin) ? [] : (await readAll(io.stdin)).split('\n').filter((line) => line.trim() !== '');
    for (const driver of wanted) await platform(io, loaded, driver, lines, options.test);
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
  await saveModel(io, loaded, choice);
  io.stdout.write(`The model is ${provider}/${name}, in ${loaded.files.config}.\n`);
  if (choice.key !== undefined) io.stdout.write(`Its key is ${variable}, in ${loaded.files.dotenv}.\n`);
}

/** `lines`: what was piped. Those that are used are taken out. */
async function platform(io: CliIo, loaded: LoadedConfig, driver: ChannelDriver, lines: string[], isTested: boolean): Promise<void> {
  const setup = await driver.setup();
  const entered = await enteredFor(io, loaded, driver, setup, lines);
  const choice = { driver, setup, entered };
  if (isTested) io.stdout.write(`${await tryPlatform(loaded, choice)}\n`);
  await savePlatform(io, loaded, choice);
  const names = driver.secrets.map((option) => whereWritten(loaded, driver, option));
  const secrets = names.length === 0 ? '' : `; its secrets (${names.join(', ')}) are in ${loaded.files.dotenv}`;
  io.stdout.write(`${driver.name} is enabled in ${loaded.files.config}${secrets}.\n${setup.next}\n`);
}

/** What is not known yet: from the environment, from standard input, or by asking. */
async function enteredFor(
  io: CliIo,
  loaded: LoadedConfig,
  driver: ChannelDriver,
  { fields, steps }: ChannelSetup,
  lines: string[],
): Promise<Map<string, string>> {
  const entered = new Map<string, string>();
  const isKnown = ({ option }: SetupField): boolean => knownValue(loaded, driver, option) !== undefined;
  if (atTerminal(io) && !fields.every(isKnown)) io.stdout.write(`${steps.join('\n')}\n`);
  const fromEnvironment = (option: string): string | undefined => io.environment[whereWritten(loaded, driver, option)]?.trim() || undefined;
  const piped = fields.filter(({ option }) => driver.secrets.includes(option) && fromEnvironment(option) === undefined);
  // Fewer lines than secrets are for those that are missing.
  const takers = new Set(lines.length >= piped.length ? piped : piped.filter((field) => !isKnown(field)));
  for (const field of fields) {
    const { option, message } = field;
    const name = whereWritten(loaded, driver, option);
    const isSecret = driver.secrets.includes(option);
    const given = isSecret ? (fromEnvironment(option) ?? (takers.has(field) ? lines.shift()?.trim() : undefined)) : undefined;
    const value = given || (isKnown(field) || !atTerminal(io) ? undefined : await asked(io, message, isSecret));
    if (value && isSecret && /\s/.test(value)) throw new HermeticError('usage/bad-argument', `The value for ${name} contains spaces.`);
    if (value) entered.set(option, value);
    else if (!isKnown(field)) {
      const hint = isSecret ? `${message}. Set the variable, or pipe the value into this command.` : `${hermetic} config set ${name} VALUE`;
      throw new HermeticError('usage/bad-argument', `${name} is not set.`, { hint });
    }
  }
  return entered;
}

async function asked(io: CliIo, message: string, isSecret: boolean): Promise<string> {
  const { askFor } = await import('../setup-wizard.ts');
  return (await askFor(io, message, isSecret)).trim();
}

/** undefined when there is none, or when it is in `.env` already. */
async function secret(io: CliIo, { environment }: LoadedConfig, variable: string, isNeeded: boolean): Promise<string | undefined> {
  const given = io.environment[variable]?.trim() || (isTerminal(io.stdin) ? undefined : (await readAll(io.stdin)).trim());
  if (given) {
    if (/\s/.test(given)) throw new HermeticError('usage/bad-argument', `The value for ${variable} contains spaces.`);
    return given;
  }
  if (environment[variable] !== undefined || !isNeeded || !atTerminal(io)) return undefined;
  return await asked(io, variable, true);
}

async function tellWhatIsNext(io: CliIo, before: LoadedConfig): Promise<void> {
  const after = loadConfig({ environment: io.environment });
  const { config, origins, home } = after;
  for (const key of ['model.provider', 'model.model', 'model.base_url'] as const) {
    const { source } = origins[key] ?? {};
    if (source === 'environment' || source === '.env')
      io.stderr.write(`note: ${key} is also set by ${source}, which overrides config.yaml\n`);
  }
  if (JSON.stringify(config.model) === JSON.stringify(before.config.model) && enabledIn(after) === enabledIn(before)) return;
  if (await runningGateway(home))
    io.stdout.write('The running gateway uses the model from now on. It connects to a new platform at its next start.\n');
  else io.stdout.write(`Next: ${hermetic} start, or ${hermetic} chat.\n`);
}

function enabledIn(config: LoadedConfig): string {
  return platforms
    .filter((driver) => isEnabled(config, driver))
    .map(({ kind }) => kind)
    .join(' ');
}

function atTerminal({ stdin, stdout }: CliIo): boolean {
  return isTerminal(stdin) && isTerminal(stdout);
}

function isTerminal(stream: unknown): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true;
}
