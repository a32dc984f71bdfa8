import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { HermeticError } from '../core/errors.ts';
import { errorText } from '../lib/error-text.ts';
import { hermetic } from '../lib/own-command.ts';
import { replaceFile } from '../lib/replace-file.ts';
import { conflictsIn } from './conflicts.ts';
import { isCollection, listedNames, scalarFromText } from './environment-layer.ts';
import { complaintsAbout, throwProblems, unknownKeyError } from './explain.ts';
import { refuseForeign } from './home.ts';
import { type ConfigKey, findKey } from './keys.ts';
import { spliceIn, spliceItemIn, spliceItemOut, spliceOut } from './splice.ts';
import { parseYaml, readYamlLayer } from './yaml-layer.ts';

type Values = Record<string, Record<string, unknown>>;

/** Texts for keys, by their names; undefined takes a key out. */
export type Changes = Readonly<Record<string, string | undefined>>;

/** With `try`, does everything but write: throws, and gives back, what it would. */
export type Writing = 'write' | 'try';

/** Throws when one of them is no key, or not a value of its key. */
export function checkChanges(changes: Changes): void {
  for (const [name, text] of Object.entries(changes)) checkedChange(name, text);
}

/** Changes keys of a config.yaml all at once, making the file when there is none. Writes only a file that would load as a whole. */
export function changeKeys(file: string, changes: Changes, writing: Writing = 'write'): void {
  const checked = Object.entries(changes).map(([name, text]) => checkedChange(name, text));
  edit(file, writing, (before = '') => {
    const wanted = valuesOf(before);
    let after: string | undefined = before;
    for (const { section, key, value } of checked.flatMap((change) => entriesOf(change, wanted))) {
      if (after === undefined) break;
      if (value !== undefined) {
        wanted[section] = { ...wanted[section], [key]: value };
        after = spliceIn(after, section, key, value);
      } else if (Object.hasOwn(wanted[section] ?? {}, key)) {
        delete wanted[section]?.[key];
        after = spliceOut(after, section, key);
      }
    }
    return { after, wanted };
  });
}

interface Change {
  key: ConfigKey;
  /** undefined takes the key out. */
  value: unknown;
}

/** The lines that a change is made of: one, or those of a section that is one map. */
function entriesOf({ key: { section, key }, value }: Change, values: Values): { section: string; key: string; value: unknown }[] {
  if (key !== undefined) return [{ section, key, value }];
  const entries = { ...(value as Record<string, unknown> | undefined) };
  const names = new Set([...Object.keys(values[section] ?? {}), ...Object.keys(entries)]);
  return [...names].map((name) => ({ section, key: name, value: Object.hasOwn(entries, name) ? entries[name] : undefined }));
}

function checkedChange(name: string, text: string | undefined): Change {
  const key = findKey(name);
  if (!key) throw unknownKeyError(name);
  if (text === undefined) return { key, value: undefined };
  const value = valueFromText(key, text);
  const [first, ...others] = complaintsAbout(key, value);
  if (first) throw new HermeticError(first.code, [first, ...others].map((complaint) => complaint.sentence).join('\n'));
  return { key, value };
}

/**
 * Takes one key out of a config.yaml, also one that does not exist by now. false when the file does not set it; throws
 * when it is no key either.
 */
export function unsetKey(file: string, name: string, writing: Writing = 'write'): boolean {
  const found = takeOut(file, name, writing);
  if (!found && !findKey(name)) throw unknownKeyError(name);
  return found;
}

/** Does the same for a name that need not be that of a key. What leaves fewer mistakes than there were is written, although the file does not load yet. */
export function takeOut(file: string, name: string, writing: Writing = 'write'): boolean {
  const [section = '', key] = name.split(/\.(.*)/s);
  let found = false;
  edit(file, writing, (before) => {
    const wanted = valuesOf(before ?? '');
    const isWhole = key === undefined && findKey(name) !== undefined;
    const names = Object.keys(wanted[section] ?? {}).filter((one) => isWhole || one === key);
    found = names.length > 0;
    if (before === undefined || !found) return undefined;
    for (const one of names) delete wanted[section]?.[one];
    const after = names.reduce<string | undefined>((text, one) => text && spliceOut(text, section, one), before);
    return { after, wanted, mistakes: readYamlLayer(before, file).problems.length };
  });
  return found;
}

/** Adds an entry at the end of a list of a config.yaml, unless the list has it. False then. Other entries stay as they are written. */
export function addToList(
  file: string,
  name: string,
  entry: string,
  isSame: (other: string) => boolean,
  writing: Writing = 'write',
): boolean {
  let isAdded = false;
  editList(file, name, writing, (text, entries, { section, key }) => {
    isAdded = !entries.some((one) => typeof one === 'string' && isSame(one));
    return isAdded ? { after: spliceItemIn(text, section, key, entry), left: [...entries, entry] } : undefined;
  });
  return isAdded;
}

/** Takes entries out of a list of a config.yaml. Returns them; the others stay as they are written. */
export function takeFromList(file: string, name: string, isMeant: (entry: string) => boolean, writing: Writing = 'write'): string[] {
  const taken: string[] = [];
  editList(file, name, writing, (text, entries, { section, key }) => {
    taken.length = 0;
    let after: string | undefined = text;
    const left = [...entries];
    for (const [index, entry] of [...entries.entries()].reverse()) {
      if (typeof entry !== 'string' || !isMeant(entry)) continue;
      taken.unshift(entry);
      left.splice(index, 1);
      after = after === undefined ? undefined : spliceItemOut(after, section, key, index);
    }
    return taken.length > 0 ? { after, left } : undefined;
  });
  return taken;
}

type ListKey = { section: string; key: string };
type ListChange = (text: string, entries: readonly unknown[], where: ListKey) => { after: string | undefined; left: unknown[] } | undefined;

function editList(file: string, name: string, writing: Writing, change: ListChange): void {
  const { section, key } = findKey(name) ?? {};
  if (section === undefined || key === undefined) throw unknownKeyError(name);
  edit(file, writing, (before = '') => {
    const wanted = valuesOf(before);
    const entries = wanted[section]?.[key] ?? [];
    const changed = change(before, Array.isArray(entries) ? entries : [], { section, key });
    return changed && { after: changed.after, wanted: { ...wanted, [section]: { ...wanted[section], [key]: changed.left } } };
  });
}

interface Edit {
  /** undefined: the text could not be changed. */
  after: string | undefined;
  /** The exact settings of the file afterwards. */
  wanted: Values;
  /** The file may keep fewer than these. Default: none. */
  mistakes?: number;
}

function edit(file: string, writing: Writing, change: (before: string | undefined) => Edit | undefined): void {
  refuseForeign(file, dirname(file));
  try {
    replaceFile(file, { mode: 0o600 }, (before) => {
      throwProblems(readYamlLayer(before ?? '', file).problems.filter((problem) => problem.code === 'config/bad-yaml'));
      const result = change(before);
      if (!result) return undefined;
      const after = result.after ?? '';
      const { problems, settings } = readYamlLayer(after, file);
      const asWanted = result.after !== undefined && !problems.some((problem) => problem.code === 'config/bad-yaml');
      if (!asWanted || !isDeepStrictEqual(withoutEmpty(valuesOf(after)), withoutEmpty(result.wanted))) {
        throw new HermeticError('config/bad-value', `${file} is written in a way that cannot be changed from here without changing more.`, {
          hint: `Edit the file by hand, then run \`${hermetic} config check\`.`,
        });
      }
      if (problems.length === 0) throwProblems(conflictsIn(settings, { config: file, dotenv: '' }));
      else if (problems.length >= (result.mistakes ?? 0)) throwProblems(problems);
      return writing === 'try' ? undefined : after;
    });
  } catch (error) {
    if (error instanceof HermeticError) throw error;
    const reason = errorText(error);
    throw new HermeticError('config/unreadable', `${file} was not changed: ${reason}.`, { cause: error });
  }
}

function valuesOf(text: string): Values {
  const values: unknown = parseYaml(text).toJS();
  return isRecord(values) ? (values as Values) : {};
}

/** An empty section says as much as none. */
function withoutEmpty(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).filter(([, section]) => !(section === null || (isRecord(section) && Object.keys(section).length === 0))),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lists and maps are YAML, and so also JSON. Text needs no quotes. */
function valueFromText(key: ConfigKey, text: string): unknown {
  if (!isCollection(key.kind)) return scalarFromText(key, text);
  const names = listedNames(key, text);
  if (names) return names;
  const document = parseYaml(text);
  if (document.errors.length === 0) return document.toJS();
  throw new HermeticError('config/bad-value', `${key.name} must be ${key.notes.expects}, written as JSON or YAML.`);
}
