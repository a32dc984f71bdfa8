import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { HermeticError } from '../core/errors.ts';
import { hermetic } from '../lib/own-command.ts';
import { filesVersion, unreadable } from './home.ts';
import { configKeys, setAt, valueAt } from './keys.ts';
import type { LoadedConfig } from './load.ts';
import { type Config, platformSections } from './schema.ts';

export interface LiveConfigOptions {
  /** As the program began. Keys that need a restart stay as they are in here. */
  running: LoadedConfig;
  /** Throws when there is a mistake. */
  load(): LoadedConfig;
  /** Told of every version that is in force from now on, and what changed: names of keys and variables. */
  apply(loaded: LoadedConfig, changed: readonly string[]): void;
  /** Told of every problem that keeps the files from coming into force. */
  refused(problem: string): void;
  log(line: string): void;
}

/** Files are looked at whenever something needs them, and this often when nothing does. */
const lookMs = 2_000;
/** A file that has not changed for this long is complete: editors write in place, too. */
const settleMs = 150;
/** Callers wait at most this long for files that keep changing. */
const deadlineMs = 3_000;

/**
 * The configuration of a program that runs for long: follows `config.yaml` and `.env`. What cannot be loaded changes nothing and is the
 * `problem` until it is mended. Security: no half-written, emptied or missing file takes effect, for what it leaves out would fall back
 * to a default, and a default may be weaker.
 */
export class LiveConfig {
  /** The first problem of the files, in one line that begins with file, line and key. */
  problem: string | undefined;
  /** One line for each change that counts from the next start. */
  restartNotes: readonly string[] = [];
  readonly #options: LiveConfigOptions;
  #current: LoadedConfig;
  /** Of the files that were looked at last. */
  #seen: string;
  #following: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LiveConfigOptions) {
    this.#options = options;
    this.#current = options.running;
    this.#seen = options.running.version;
  }

  /** Lines that come first in a status. */
  get alerts(): readonly string[] {
    return this.problem === undefined ? this.restartNotes : [this.problem, ...this.restartNotes];
  }

  /** Logs the settings that this version does not use. */
  tellOfUnused(): void {
    this.#tellOfUnused(this.#current.warnings);
  }

  start(): void {
    this.#timer = setInterval(() => void this.fresh(), lookMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#following;
  }

  /** Resolves when what the files say is in force: at once unless they have changed. Never rejects. */
  async fresh(): Promise<void> {
    if (this.#following === undefined && this.#version() === this.#seen) return;
    this.#following ??= this.#follow().finally(() => {
      this.#following = undefined;
    });
    await this.#following;
  }

  async #follow(): Promise<void> {
    const deadline = Date.now() + deadlineMs;
    for (let before = this.#version(); Date.now() < deadline; ) {
      await delay(settleMs);
      const outcome = this.#load();
      const after = this.#version();
      if (after === before) {
        this.#seen = after;
        return this.#take(outcome);
      }
      before = after;
    }
  }

  #load(): LoadedConfig | HermeticError {
    try {
      const { config, dotenv } = this.#current.files;
      this.#refuseEmptied(config, 'config.yaml');
      this.#refuseEmptied(dotenv, '.env');
      return this.#options.load();
    } catch (error) {
      return error instanceof HermeticError ? error : new HermeticError('config/unreadable', String(error), { cause: error });
    }
  }

  /** Only for a file that something in force comes from. */
  #refuseEmptied(file: string, source: 'config.yaml' | '.env'): void {
    if (!Object.values(this.#current.origins).some((origin) => origin.source === source)) return;
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined || found.size === 0) throw unreadable(file, found ? 'is empty' : 'is gone');
  }

  #take(outcome: LoadedConfig | HermeticError): void {
    const { running, log, apply, refused } = this.#options;
    if (outcome instanceof HermeticError) {
      // Security: people in chats read it, and where the home is is not their business.
      const [first, ...others] = withoutHome(outcome.message, running.home).split('\n');
      const more = others.length > 0 ? ` (${others.length} more: ${hermetic} config check)` : '';
      const problem = `${first}${more} The last good configuration stays in force.`;
      if (problem !== this.problem) {
        log(`configuration: ${problem}`);
        refused(problem);
      }
      this.problem = problem;
      return;
    }
    if (this.problem !== undefined) log('configuration: the files are fine again');
    this.problem = undefined;
    this.#tellOfUnused(outcome.warnings, this.#current.warnings);
    const notes = restartNotes(running, outcome);
    for (const note of notes) if (!this.restartNotes.includes(note)) log(`configuration: ${note}`);
    this.restartNotes = notes;
    const next = withRestartKeysOf(running, outcome);
    const changed = changedNames(this.#current, next);
    this.#current = next;
    if (changed.length === 0) return;
    log(`configuration: ${changed.join(', ')} changed`);
    apply(next, changed);
  }

  #tellOfUnused(warnings: LoadedConfig['warnings'], known: LoadedConfig['warnings'] = []): void {
    const said = new Set(known.map(({ message }) => message));
    for (const { message } of warnings) if (!said.has(message)) this.#options.log(`configuration: ${message}`);
  }

  #version(): string {
    const { home: directory, files } = this.#current;
    return filesVersion({ directory, files });
  }
}

function withoutHome(message: string, home: string): string {
  let text = message.replaceAll(`${home}/`, '').replaceAll(home, 'the home');
  for (let above = dirname(home); above !== dirname(above); above = dirname(above))
    text = text.replaceAll(above, 'a directory above the home');
  return text;
}

const restartKeys = configKeys.filter((key) => key.needsRestart);

function restartNotes(running: LoadedConfig, next: LoadedConfig): string[] {
  const keys = restartKeys.filter((key) => !isDeepStrictEqual(valueAt(running.config, key), valueAt(next.config, key)));
  const variables = startVariables(running.config).filter((name) => running.environment[name] !== next.environment[name]);
  return [...keys.map(({ name }) => name), ...variables].map((name) => `${name} changed: restart the gateway to apply it`);
}

/** Variables that are read once: what channels and the page were started with. */
function startVariables(config: Config): string[] {
  const sections = [...platformSections(config).values(), config.web].filter(({ enabled }) => enabled);
  return sections.flatMap((section) => Object.entries(section).flatMap(([key, name]) => (key.endsWith('_env') ? [String(name)] : [])));
}

function withRestartKeysOf(running: LoadedConfig, next: LoadedConfig): LoadedConfig {
  const config = structuredClone(next.config);
  for (const key of restartKeys) setAt(config, key, valueAt(running.config, key));
  return { ...next, config };
}

/** Of keys and variables, without their values. */
function changedNames(before: LoadedConfig, after: LoadedConfig): string[] {
  const keys = configKeys.filter((key) => !isDeepStrictEqual(valueAt(before.config, key), valueAt(after.config, key)));
  const variables = new Set([...Object.keys(before.environment), ...Object.keys(after.environment)]);
  return [...keys.map(({ name }) => name), ...[...variables].filter((name) => before.environment[name] !== after.environment[name])];
}
