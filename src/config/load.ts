import { HermeticError } from '../core/errors.ts';
import { type Dotenv, parseDotenv } from '../lib/dotenv.ts';
import { isObjectName } from '../lib/variable-name.ts';
import { conflictsIn } from './conflicts.ts';
import { type Environment, environmentOf, readEnvironmentLayer } from './environment-layer.ts';
import { type Problem, problemAt, throwProblems, unusableSecret } from './explain.ts';
import { expandPath, filesVersion, findHome, type Home, type HomeRequest, prepareHome, readTextFile } from './home.ts';
import { configKeys, setAt } from './keys.ts';
import { type Config, configSchema } from './schema.ts';
import type { Layer, Origin, Setting } from './setting.ts';
import { parseVolume } from './volumes.ts';
import { readYamlLayer } from './yaml-layer.ts';

export interface LoadedConfig {
  config: Config;
  /** For every key, by its dotted name. */
  origins: Readonly<Record<string, Origin>>;
  home: string;
  files: Home['files'];
  /** Of the files it was read from, or of an earlier moment when they changed meanwhile. */
  version: string;
  /** The process environment over `.env`, without blank variables. Where tokens and forwarded variables get their values. */
  environment: Readonly<Record<string, string>>;
  /** The names in `environment` whose values are from `.env`. */
  dotenvNames: ReadonlySet<string>;
  /** Settings that this version does not use. One with the code `config/bad-value` enables a platform and stops the gateway. */
  warnings: readonly Problem[];
  /** Variables that they name as the place of a token. */
  unusedTokenVariables: readonly string[];
}

/**
 * Environment beats `.env` beats `config.yaml` beats default. Every problem of every layer is reported, also one in a value that
 * another layer overrides, and then nothing is loaded.
 */
export function loadConfig(request: HomeRequest): LoadedConfig {
  const { home, version, layers, problems, dotenv } = inspect(request);
  const ofProcess = environmentOf(Object.entries(request.environment));
  throwProblems(problems);
  const winners = new Map<string, Setting>(layers.flatMap((layer) => layer.settings).map((setting) => [setting.key.name, setting]));
  return {
    config: assemble(winners, home),
    origins: Object.fromEntries(configKeys.map(({ name }) => [name, winners.get(name)?.origin ?? { source: 'default' }])),
    home: home.directory,
    files: home.files,
    version,
    environment: environmentOf([...Object.entries(dotenv), ...Object.entries(ofProcess)].filter(([, value]) => value.trim() !== '')),
    dotenvNames: new Set(Object.keys(dotenv).filter((name) => !ofProcess[name]?.trim())),
    // One for each key, of the layer that counts.
    warnings: [...new Map(layers.flatMap((layer) => layer.warnings).map((warning) => [warning.key, warning])).values()],
    unusedTokenVariables: layers.flatMap((layer) => layer.tokenVariables),
  };
}

/** Everything that is wrong with the configuration; empty when it would load. */
export function checkConfig(request: HomeRequest): Problem[] {
  return inspect(request).problems;
}

interface Inspection {
  home: Home;
  version: string;
  /** The weakest first. */
  layers: Layer[];
  problems: Problem[];
  dotenv: Readonly<Record<string, string>>;
}

function inspect(request: HomeRequest): Inspection {
  const home = findHome(request);
  const problems: Problem[] = [];
  const attempt = <T>(step: () => T): T | undefined => {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof HermeticError)) throw error;
      problems.push({ code: error.code, message: error.message, ...(error.hint !== undefined && { hint: error.hint }) });
      return undefined;
    }
  };
  attempt(() => prepareHome(home));
  const version = filesVersion(home);
  const yaml = attempt(() => readTextFile(home.files.config, { ownerOnly: false })) ?? '';
  const dotenv = parseDotenv(attempt(() => readTextFile(home.files.dotenv, { ownerOnly: true })) ?? '');
  const layers = [
    readYamlLayer(yaml, home.files.config),
    readDotenvLayer(dotenv, home.files.dotenv),
    readProcessLayer(request.environment),
  ];
  problems.push(...layers.flatMap((layer) => layer.problems));
  if (problems.length === 0)
    problems.push(
      ...conflictsIn(
        layers.flatMap((layer) => layer.settings),
        home.files,
      ),
    );
  return { home, version, layers, problems, dotenv: valuesOf(dotenv) };
}

function readProcessLayer(environment: Environment): Layer {
  return readEnvironmentLayer(
    environment,
    (variable) => ({ source: 'environment', variable }),
    (variable) => ({ variable }),
  );
}

function readDotenvLayer(dotenv: Dotenv, file: string): Layer {
  const lineOf = new Map(dotenv.entries.map((entry) => [entry.name, entry.line]));
  const layer = readEnvironmentLayer(
    valuesOf(dotenv),
    (variable) => ({ source: '.env', variable, line: lineOf.get(variable) ?? 1 }),
    (variable) => ({ file, line: lineOf.get(variable) ?? 1, variable }),
  );
  const mistakes = dotenv.mistakes.map(({ line, reason }) => problemAt({ file, line }, 'config/bad-value', `${reason}.`));
  const unusable = dotenv.entries.filter(({ name }) => isObjectName(name)).map(({ name, line }) => unusableSecret({ file, line }, name));
  return { ...layer, problems: [...mistakes, ...layer.problems], warnings: [...unusable, ...layer.warnings] };
}

function valuesOf(dotenv: Dotenv): Record<string, string> {
  return environmentOf(dotenv.entries.map(({ name, value }) => [name, value]));
}

function assemble(settings: ReadonlyMap<string, Setting>, home: Home): Config {
  const values = {};
  for (const { key, value } of settings.values()) setAt(values, key, value);
  return expandPaths(configSchema.parse(values), home);
}

/** Paths of the host become absolute here, once, so that no other code has to know what `~` means. */
function expandPaths(config: Config, home: Home): Config {
  const expand = (path: string) => expandPath(path, { '~/': home.userHome, '$HERMETIC_HOME/': home.directory });
  const { terminal } = config;
  terminal.sandbox_dir = expand(terminal.sandbox_dir);
  terminal.docker_volumes = terminal.docker_volumes.map((entry) => entry.replace(parseVolume(entry).source, expand));
  return config;
}
