import { dirname } from 'node:path';
import { HermeticError } from '../core/errors.ts';
import { parseDotenv, removeFromDotenv, setInDotenv } from '../lib/dotenv.ts';
import { errorText } from '../lib/error-text.ts';
import { hermetic } from '../lib/own-command.ts';
import { replaceFile } from '../lib/replace-file.ts';
import { isObjectName, looksLikeVariable, objectNameFlaw } from '../lib/variable-name.ts';
import type { Writing } from './edit.ts';
import { readTextFile, refuseForeign } from './home.ts';
import { configKeys } from './keys.ts';
import { decidesStart } from './start-variables.ts';

/** The kernel starts no program with a longer variable. */
const maxBytes = 128 * 1024 - 1024;

/** The names of a `.env`, in its order. Never the values. */
export function secretNames(file: string): string[] {
  return [...new Set(parseDotenv(readTextFile(file, { ownerOnly: true }) ?? '').entries.map(({ name }) => name))];
}

/** Throws for a name that cannot be stored. Security: repeats only known names: people also type the value there. */
export function checkSecretName(name: string): void {
  if (!looksLikeVariable(name)) {
    throw new HermeticError(
      'usage/bad-argument',
      'The name of a secret consists of letters, digits and underscores, and begins with no digit.',
      {
        hint: `${hermetic} secret set NAME asks for the value, or reads it from standard input.`,
      },
    );
  }
  if (isObjectName(name)) {
    throw new HermeticError('usage/bad-argument', `${name} cannot be the name of a secret: ${objectNameFlaw}. Choose another name.`);
  }
  if (decidesStart(name)) {
    throw new HermeticError('usage/bad-argument', `${name} cannot be a secret: it decides how programs start. Choose another name.`, {
      hint: 'For a secret that is bound to hosts, --as chooses the variable inside.',
    });
  }
  const key = configKeys.find(({ variable }) => variable === name);
  if (!key && !name.startsWith('HERMETIC_')) return;
  throw new HermeticError('usage/bad-argument', `${name} is not a secret: Hermetic reads it as a setting.`, {
    hint: key ? `${hermetic} config set ${key.name} VALUE` : 'Choose a name that does not begin with HERMETIC_.',
  });
}

/** Throws for a value that would not come back exactly as it is. */
export function checkSecretValue(value: string): void {
  const flaw =
    value.trim() === ''
      ? 'it is blank, which counts as unset'
      : value.includes('\0')
        ? 'it contains a NUL character'
        : !value.isWellFormed()
          ? 'it is not Unicode text'
          : Buffer.byteLength(value) > maxBytes
            ? `it is larger than ${Math.floor(maxBytes / 1024)} KiB`
            : undefined;
  if (flaw) throw new HermeticError('usage/bad-argument', `The value cannot be stored: ${flaw}. Nothing was changed.`);
}

/** Security: a file that does not exist yet is made for its owner alone. */
export function saveSecret(file: string, name: string, value: string, writing: Writing = 'write'): void {
  change(file, writing, (text) => setInDotenv(text, name, value));
}

/** false when the file does not have it. */
export function removeSecret(file: string, name: string, writing: Writing = 'write'): boolean {
  if (!secretNames(file).includes(name)) return false;
  change(file, writing, (text) => removeFromDotenv(text, name));
  return true;
}

function change(file: string, writing: Writing, edit: (text: string) => string): void {
  refuseForeign(file, dirname(file));
  try {
    replaceFile(file, { mode: 0o600 }, (text = '') => {
      const after = edit(text);
      return writing === 'try' ? undefined : after;
    });
  } catch (error) {
    const reason = errorText(error);
    throw new HermeticError('config/unreadable', `${file} was not changed: ${reason}.`, { cause: error });
  }
}
