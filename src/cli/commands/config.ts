import type { Command } from 'commander';
import { problemsError, throwProblems, unknownKeyError } from '../../config/explain.ts';
import { findHome } from '../../config/home.ts';
import { type ConfigKey, configKeys, configSections, findKey, findSection } from '../../config/keys.ts';
import { checkConfig, type LoadedConfig, loadConfig } from '../../config/load.ts';
import { originText, shownValue, valueText } from '../../config/show.ts';
import { whyUnused } from '../../config/unused.ts';
import { HermeticError } from '../../core/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import { configWarnings } from '../config-warnings.ts';
import { type CliIo, commandOn } from '../io.ts';
import { runningGateway } from '../running-gateway.ts';
import { appOf } from '../session-options.ts';
import { withSettings } from '../with-settings.ts';

interface Output {
  json?: boolean;
}

export function configCommand(io: CliIo): Command {
  const config = commandOn(io, 'config').description('read and change the configuration');
  const { environment } = io;
  const print = (text: string): void => void io.stdout.write(`${text}\n`);

  config
    .command('get <key>')
    .description('print the value in force')
    .option('--json', 'print key, value and origin as JSON')
    .action((name: string, { json }: Output) => {
      const key = findKey(name);
      if (!key) throw unknownKeyError(name);
      const loaded = loadConfig({ environment });
      print(json ? JSON.stringify(row(loaded, key)) : valueText(shownValue(key, loaded.config)));
    });

  config
    .command('set <key> <value>')
    .description('change config.yaml; lists and maps are JSON or YAML')
    .action(async (name: string, value: string) => {
      await withSettings(io, async (settings) => await settings.change({ [name]: value }));
      print(`${name} is set in ${findHome({ environment }).files.config}`);
      await tellOfOthers(io, name);
    });

  config
    .command('unset <key>')
    .description('remove a key from config.yaml')
    .action(async (name: string) => {
      const removed = await withSettings(io, async (settings) => await settings.unset(name));
      print(`${name} ${removed ? 'is no longer set' : 'was not set'} in ${findHome({ environment }).files.config}`);
      await tellOfOthers(io, name);
    });

  config
    .command('list [section]')
    .description('print every key, its value and where it comes from')
    .option('--json', 'print an array of key, value and origin')
    .action((section: string | undefined, { json }: Output) => {
      const keys = keysOf(section);
      const loaded = loadConfig({ environment });
      if (json) print(JSON.stringify(keys.map((key) => row(loaded, key))));
      else io.stdout.write(table(loaded, keys));
    });

  config
    .command('check')
    .description('list all mistakes in the configuration')
    .option('--json', 'print the problems as JSON')
    .action(async ({ json }: Output) => {
      const problems = checkConfig({ environment });
      const warnings = problems.length > 0 ? [] : await configWarnings(appOf(io));
      if (json) {
        print(JSON.stringify({ ok: problems.length === 0, problems, warnings: warnings.map(warningJson) }));
        if (problems.length > 0) io.setExitCode(2);
        return;
      }
      throwProblems(problems);
      for (const warning of warnings) io.stderr.write(warningText(warning));
      print(`${findHome({ environment }).files.config} and the environment ${warnings.length === 0 ? 'are fine' : 'can be read'}`);
    });

  config
    .command('path')
    .description('print the path of config.yaml')
    .action(() => print(findHome({ environment }).files.config));

  return config;
}

function keysOf(section: string | undefined): readonly ConfigKey[] {
  if (section === undefined) return configKeys;
  const found = findSection(section);
  if (found) return found.keys;
  const why = whyUnused(section);
  if (why !== undefined) throw new HermeticError('config/unused-key', `${section} is not used: ${why}.`);
  const names = configSections.map(({ name }) => name);
  const meant = nearest(section, names);
  throw new HermeticError('config/unknown-key', `${section} is not a section.${meant ? ` Did you mean ${meant}?` : ''}`, {
    hint: `The sections are ${names.join(', ')}.`,
  });
}

function row(loaded: LoadedConfig, key: ConfigKey) {
  return { key: key.name, value: shownValue(key, loaded.config) ?? null, origin: loaded.origins[key.name] };
}

const widestValue = 60;

function table(loaded: LoadedConfig, keys: readonly ConfigKey[]): string {
  const rows = keys.map((key) => {
    const value = shownValue(key, loaded.config);
    const origin = loaded.origins[key.name] ?? { source: 'default' };
    return { name: key.name, value: value === undefined ? '(unset)' : printable(valueText(value)), origin: originText(origin) };
  });
  const nameWidth = Math.max(...rows.map((row) => row.name.length));
  const valueWidth = Math.min(widestValue, Math.max(...rows.map((row) => row.value.length)));
  return rows.map((row) => `${row.name.padEnd(nameWidth)}  ${row.value.padEnd(valueWidth)}  ${row.origin}\n`).join('');
}

/** Security: what came from a file must not steer the reader's terminal. */
function printable(text: string): string {
  return /\p{Cc}/u.test(text) ? JSON.stringify(text) : text;
}

function warningJson({ code, message, hint }: HermeticError) {
  return { code, message, ...(hint !== undefined && { hint }) };
}

function warningText({ message, hint }: HermeticError): string {
  return `warning: ${message}\n${hint ? `hint: ${hint}\n` : ''}`;
}

/** Why the change has no effect yet. */
async function tellOfOthers(io: CliIo, name: string): Promise<void> {
  const problems = checkConfig({ environment: io.environment });
  const [first, ...others] = problems;
  if (first) {
    io.stderr.write(`note: the configuration still does not load:\n${problemsError([first, ...others]).message}\n`);
    return;
  }
  const origin = loadConfig({ environment: io.environment }).origins[name];
  if (origin?.source === 'environment' || origin?.source === '.env') {
    io.stderr.write(`note: ${originText(origin)} is set and overrides config.yaml\n`);
  }
  const isKept =
    findKey(name)?.needsRestart === true && (await runningGateway(findHome({ environment: io.environment }).directory)) !== undefined;
  if (isKept) io.stderr.write(`note: the running gateway keeps the ${name} it was started with: restart it to apply the change\n`);
  for (const warning of await configWarnings(appOf(io))) io.stderr.write(warningText(warning));
}
