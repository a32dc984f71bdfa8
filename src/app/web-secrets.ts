import { bindingChanges, boundEntry } from '../config/bind-secret.ts';
import { secretProblems } from '../config/bound-secrets.ts';
import { rulesWithoutEffect } from '../config/egress-rules.ts';
import { listedSecrets, secretsOverride, unusableSecrets, valueOverride } from '../config/listed-secrets.ts';
import type { LoadedConfig } from '../config/load.ts';
import { checkSecretName } from '../config/secrets-file.ts';
import { SettingsEditor } from '../config/settings-editor.ts';
import type { AuditEvent } from '../core/audit.ts';
import { HermeticError } from '../core/errors.ts';
import { pageOwner } from '../core/sign-ins.ts';
import type { SecretChange, SecretsView, SecretView, WebSecrets } from '../http/parts.ts';
import { Lane } from '../lib/lanes.ts';
import { isObjectName, objectNameFlaw } from '../lib/variable-name.ts';
import type { App } from './app.ts';
import { findNetworkFacts } from './status/network-status.ts';

export interface WebSecretsDeps {
  /** The configuration as it is written now. Throws when there is a mistake. */
  load(): LoadedConfig;
  /** Resolves when the files are in force, or with why they are not. */
  follow(): Promise<string | undefined>;
  /** Why sessions of chats do not use secrets. */
  obstacle(): Promise<string | undefined>;
  /** Puts changes by the owner into the audit log. */
  record(events: readonly AuditEvent[]): Promise<void>;
  redact(text: string): string;
}

/** What the page does with secrets: the same as `hermetic secret`, in the same words. */
export function webSecrets({ load, follow, obstacle, record, redact }: WebSecretsDeps): WebSecrets {
  // One change at a time: a second one reads the files as the first one left them.
  const lane = new Lane();
  const settingsOf = ({ files }: LoadedConfig): SettingsEditor => new SettingsEditor({ files, actor: pageOwner, record, redact });
  /** The effect of a change that is written. */
  const effect = async (ifUsed: string, ...notes: (string | undefined)[]): Promise<string> => {
    const problem = await follow();
    const result = problem === undefined ? ((await obstacle()) ?? ifUsed) : `The running gateway does not use the change: ${problem}`;
    return [...notes.filter((note) => note !== undefined).map((note) => `Note: ${note}.`), result].join(' ');
  };
  return {
    view: async (): Promise<SecretsView> => ({ secrets: secretViews(load()), obstacle: (await obstacle()) ?? null }),

    set: async (name, change) => {
      const done = await lane.run(async () => {
        const before = load();
        return await write(before, settingsOf(before), name, change);
      });
      const loaded = load();
      const notes = [secretsOverride(loaded), change.value === undefined ? undefined : valueOverride(loaded, name)];
      return `${done} ${await effect('Sessions use it from the next command on.', ...notes)}`;
    },

    remove: async (name) => {
      const entry = await lane.run(async () => {
        const loaded = load();
        const bound = boundEntry(loaded, name);
        // Security: other values of `.env`, such as the token of a bot, are not for the page. None has such a name.
        if (!bound && !isObjectName(name)) throw new HermeticError('secret/not-found', 'No secret of this name is bound to hosts.');
        const override = secretsOverride(loaded);
        if (override !== undefined) throw new HermeticError('config/bad-value', `Nothing was changed: ${override}.`);
        await settingsOf(loaded).forgetSecret(name);
        return bound;
      });
      const { env = name } = entry ?? {};
      const after = load();
      const kept = after.environment[env] === undefined ? undefined : `its value is still in ${env}`;
      return `${name} is removed. ${await effect('Sessions are without it from the next command on.', kept)}`;
    },
  };
}

/** Gives back what was done. */
async function write(loaded: LoadedConfig, settings: SettingsEditor, name: string, { hosts: given, value }: SecretChange): Promise<string> {
  const hosts = [...new Set(given)];
  checkSecretName(name);
  const entry = boundEntry(loaded, name);
  if (value === undefined && !entry) throw new HermeticError('usage/bad-argument', 'A secret needs a value. Nothing was changed.');
  const env = value === undefined ? entry?.env : undefined;
  const changes = bindingChanges(loaded, name, { hosts, ...(env !== undefined && { env }) });
  if (value === undefined) {
    await settings.bindSecret(name, { changes, hosts });
    return `${name} is bound to ${hosts.join(', ')}.`;
  }
  const isKnown = await settings.storeSecret(name, value, { changes, hosts });
  return `${name} is ${isKnown ? 'replaced' : 'stored'} and bound to ${hosts.join(', ')}.`;
}

function secretViews(loaded: LoadedConfig): SecretView[] {
  const sentences = [...secretProblems(loaded), ...rulesWithoutEffect(loaded.config)];
  const unusable = unusableSecrets(loaded).map((name) => {
    return { name, hosts: [], variable: name, value: null, problem: `It is not used: ${objectNameFlaw}. Remove it.` };
  });
  const listed = listedSecrets(loaded).map(({ name, variable, value }) => {
    const beginnings = [`secrets.${name} `, `secrets.${name}:`];
    const problem = sentences.find((sentence) => beginnings.some((beginning) => sentence.startsWith(beginning))) ?? null;
    return { name, hosts: boundEntry(loaded, name)?.hosts ?? [], variable, value, problem };
  });
  return [...listed, ...unusable];
}

/** Why sessions of chats do not use secrets, in words for the page; undefined when they do. */
export async function secretsObstacle(app: App): Promise<string | undefined> {
  const { status } = await app.sandboxStatus.latest();
  const { backend, network, problem } = await findNetworkFacts(app.loaded, 'messaging', status.backend);
  if (backend === null) {
    const reasons = status.unusable.map(({ backend: kind, reason }) => `${kind}: ${reason}`).join(' ');
    return `Sessions cannot run commands now: no sandbox backend works here. ${reasons}`.trim();
  }
  if (network === null) return problem ?? undefined;
  if (network === 'restricted') return undefined;
  const why = problem === null ? '' : ` ${problem.replace(/^WARNING: /, '')}`;
  return `Sessions do not use secrets: their network is ${network}, and secrets need a restricted one (terminal.network: restricted).${why}`;
}
