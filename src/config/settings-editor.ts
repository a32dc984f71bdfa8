import type { AuditEvent } from '../core/audit.ts';
import { HermeticError } from '../core/errors.ts';
import { errorText } from '../lib/error-text.ts';
import { Lane } from '../lib/lanes.ts';
import { type Forgotten, forgetSecret, storeSecret } from './bind-secret.ts';
import { addToList, type Changes, changeKeys, takeFromList, unsetKey, type Writing } from './edit.ts';
import type { Home } from './home.ts';
import { findKey } from './keys.ts';
import { secretNames } from './secrets-file.ts';

export interface SettingsEditorOptions {
  files: Home['files'];
  /** Who makes the changes. */
  actor: string;
  /** Resolves when they are in the audit log. */
  record(events: readonly AuditEvent[]): Promise<void>;
  /** Takes secrets out of a value. undefined: which ones there are is not known, and no value is recorded. */
  redact: ((text: string) => string) | undefined;
}

type Fact = Pick<AuditEvent, 'kind' | 'what' | 'outcome'>;

/** More of a value does not help a reader of the log. */
const maxCharacters = 1_000;

/**
 * The one door to config.yaml and `.env`: a change is tried, then recorded, then made. When it cannot be recorded
 * nothing is changed.
 * Changes of one editor follow each other.
 */
export class SettingsEditor {
  readonly #options: SettingsEditorOptions;
  readonly #lane = new Lane();

  constructor(options: SettingsEditorOptions) {
    this.#options = options;
  }

  /** Like `changeKeys`. */
  async change(changes: Changes): Promise<void> {
    const facts = Object.entries(changes).map(([key, text]): Fact => {
      if (text === undefined) return { kind: 'config', what: { key }, outcome: 'unset' };
      return { kind: 'config', what: { key, ...this.#value(key, text) }, outcome: 'set' };
    });
    await this.#make(
      (writing) => changeKeys(this.#options.files.config, changes, writing),
      () => facts,
    );
  }

  /** Like `unsetKey`. */
  async unset(key: string): Promise<boolean> {
    return await this.#make(
      (writing) => unsetKey(this.#options.files.config, key, writing),
      (found) => (found ? [{ kind: 'config', what: { key }, outcome: 'unset' }] : []),
    );
  }

  /** Like `addToList`. */
  async add(key: string, entry: string, isSame: (other: string) => boolean): Promise<boolean> {
    return await this.#make(
      (writing) => addToList(this.#options.files.config, key, entry, isSame, writing),
      (isAdded) => (isAdded ? [{ kind: 'config', what: { key, entry }, outcome: 'added' }] : []),
    );
  }

  /** Like `takeFromList`. */
  async take(key: string, isMeant: (entry: string) => boolean): Promise<string[]> {
    return await this.#make(
      (writing) => takeFromList(this.#options.files.config, key, isMeant, writing),
      (taken) => taken.map((entry) => ({ kind: 'config', what: { key, entry }, outcome: 'removed' })),
    );
  }

  /** Like `storeSecret`. Resolves with whether it had a value before. */
  async storeSecret(name: string, value: string, binding?: { changes: Changes; hosts: readonly string[] }): Promise<boolean> {
    const { files } = this.#options;
    return await this.#make(
      (writing) => {
        const isKnown = secretNames(files.dotenv).includes(name);
        storeSecret(files, name, value, binding?.changes, writing);
        return isKnown;
      },
      (isKnown) => [{ kind: 'secret', what: { name, ...(binding && { hosts: binding.hosts }) }, outcome: isKnown ? 'replaced' : 'stored' }],
    );
  }

  /** Binds a secret to hosts, and leaves its value as it is. */
  async bindSecret(name: string, { changes, hosts }: { changes: Changes; hosts: readonly string[] }): Promise<void> {
    await this.#make(
      (writing) => changeKeys(this.#options.files.config, changes, writing),
      () => [{ kind: 'secret', what: { name, hosts }, outcome: 'bound' }],
    );
  }

  /** Like `forgetSecret`. */
  async forgetSecret(name: string): Promise<Forgotten> {
    return await this.#make(
      (writing) => forgetSecret(this.#options.files, name, writing),
      () => [{ kind: 'secret', what: { name }, outcome: 'removed' }],
    );
  }

  async #make<Result>(change: (writing: Writing) => Result, factsOf: (result: Result) => readonly Fact[]): Promise<Result> {
    return await this.#lane.run(async () => {
      const facts = factsOf(change('try'));
      await this.#record(facts).catch(refuse);
      try {
        return change('write');
      } catch (error) {
        const why = error instanceof HermeticError ? error.code : errorText(error);
        await this.#record(facts.map((fact) => ({ ...fact, what: { ...fact.what, why }, outcome: `${fact.outcome}: failed` }))).catch(
          () => undefined,
        );
        throw error;
      }
    });
  }

  async #record(facts: readonly Fact[]): Promise<void> {
    const { actor, record } = this.#options;
    if (facts.length > 0) await record(facts.map((fact) => ({ at: new Date(), actor, session: [], ...fact })));
  }

  #value(key: string, text: string): { value?: string } {
    const { redact } = this.#options;
    return redact === undefined || findKey(key)?.notes.secret ? {} : { value: redact(text).slice(0, maxCharacters) };
  }
}

/** Nothing is changed without a record. */
function refuse(error: unknown): never {
  if (!(error instanceof HermeticError)) throw error;
  const { code, message, hint } = error;
  throw new HermeticError(code, `Nothing was changed, because the change cannot be recorded: ${message}`, { hint, cause: error });
}
