import * as z from 'zod';
import { channelDrivers } from '../channels/index.ts';
import { type ErrorCode, HermeticError } from '../core/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { hermetic } from '../lib/own-command.ts';
import { isObjectName, objectNameFlaw } from '../lib/variable-name.ts';
import { type ConfigKey, findSection, nearestKey, notesAt } from './keys.ts';
import { whyUnused } from './unused.ts';

/** Where something was said: a position in a file, a variable of the environment, or both for `.env`. */
export interface Place {
  file?: string;
  line?: number;
  column?: number;
  variable?: string;
}

export interface Problem extends Place {
  code: ErrorCode;
  key?: string;
  /** A sentence that starts with the place. Never contains the value of a secret. */
  message: string;
  hint?: string;
}

export interface Complaint {
  code: ErrorCode;
  /** Inside the key's value. */
  path: readonly PropertyKey[];
  sentence: string;
}

export function problemAt(place: Place, code: ErrorCode, sentence: string, more: { key?: string; hint?: string } = {}): Problem {
  const position = [place.file, place.line, place.column].filter((part) => part !== undefined).join(':');
  const where = [position || 'environment', place.variable].filter((part) => part !== undefined).join(': ');
  return { code, ...place, ...more, message: `${where}: ${sentence}` };
}

/** All problems as one error, one per line. */
export function problemsError(problems: readonly [Problem, ...Problem[]]): HermeticError {
  const hints = new Set(problems.map((problem) => problem.hint).filter((hint) => hint !== undefined));
  return new HermeticError(problems[0].code, problems.map((problem) => problem.message).join('\n'), {
    hint: [...hints].join('\n') || undefined,
  });
}

export function throwProblems(problems: readonly Problem[]): void {
  const [first, ...others] = problems;
  if (first) throw problemsError([first, ...others]);
}

/** The problems of a value for this key; empty when there are none. */
export function complaintsAbout(key: ConfigKey, value: unknown): Complaint[] {
  const result = key.schema.safeParse(value);
  // The schema leaves it out of a map without a word.
  const isHidden = key.kind instanceof z.ZodRecord && typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__');
  const hidden = isHidden ? [notSuchName(key, ['__proto__'])] : [];
  if (result.success) return hidden;
  const issues = result.error.issues.flatMap(innermost);
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? unknownEntries(key, issue) : []));
  return [...hidden, ...unknown, ...issues.filter(({ code }) => code !== 'unrecognized_keys').map((issue) => complain(key, value, issue))];
}

/** Of a value that may be one thing or another: what is wrong inside the one that it was meant to be, when that can be told. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.find((inside) => inside.some(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'));
  return meant?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

function unknownEntries(key: ConfigKey, { path, keys }: z.core.$ZodIssueUnrecognizedKeys): Complaint[] {
  const { names = [] } = notesAt(key, path);
  return keys.map((name) => {
    const sentence = `${labelOf(key, [...path, name])} is not a key.${didYouMean(nearest(name, names))}`;
    return { code: 'config/unknown-key', path: [...path, name], sentence };
  });
}

function labelOf(key: ConfigKey, path: readonly PropertyKey[]): string {
  return key.name + path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
}

function complain(key: ConfigKey, value: unknown, issue: z.core.$ZodIssue): Complaint {
  if (issue.code === 'invalid_key') return notSuchName(key, issue.path);
  if (issue.code === 'custom' && issue.params?.isSentence) {
    return { code: 'config/bad-value', path: issue.path, sentence: `${labelOf(key, issue.path)}: ${issue.message}` };
  }
  const { expects, quiet, code } = notesAt(key, issue.path);
  const found = issue.path.reduce<unknown>((inner, step) => (inner as Record<PropertyKey, unknown> | undefined)?.[step], value);
  const reason = issue.code === 'custom' && issue.message !== 'Invalid input' ? `: ${issue.message}` : '';
  const meant = issue.code === 'invalid_value' && typeof found === 'string' ? nearest(found, issue.values.map(String)) : undefined;
  return {
    code: code && typeof found === 'string' ? (code as ErrorCode) : 'config/bad-value',
    path: issue.path,
    sentence: `${labelOf(key, issue.path)} must be ${expects}, not ${describe(found, quiet)}${reason}.${didYouMean(meant)}`,
  };
}

function notSuchName(key: ConfigKey, path: readonly PropertyKey[]): Complaint {
  const name = String(path.at(-1)).replace(/=.*/s, '');
  const why = isObjectName(name) ? `: ${objectNameFlaw}` : '';
  return {
    code: 'config/bad-value',
    path,
    sentence: `${key.name} must be ${key.notes.expects}, and ${JSON.stringify(name)} is not such a name${why}.`,
  };
}

export function unknownKey(place: Place, name: string): Problem {
  return problemAt(place, 'config/unknown-key', unknownKeySentence(name), { key: name, hint: listHint });
}

/** Also for a key that loads although this version does not use it. */
export function unknownKeyError(name: string): HermeticError {
  const why = whyUnused(name);
  if (why === undefined) return new HermeticError('config/unknown-key', unknownKeySentence(name), { hint: listHint });
  const [section, entry] = name.split('.');
  const hint = section === 'secrets' && entry !== undefined ? removeHint(entry) : `Leave it out. ${listHint}`;
  return new HermeticError('config/unused-key', `${name} is not used: ${why}.`, { hint });
}

/** The warning about a setting that this version does not use. `isOn` is for a platform that is enabled, which only stops the gateway. */
export function unusedSetting(place: Place, name: string, isOn: boolean): Problem {
  const more = { key: name, hint: `Take it out. ${listHint}` };
  if (!isOn) return problemAt(place, 'config/unused-key', `${name} is not used: ${whyUnused(name)}.`, more);
  const hint = `Set ${name} to false, or take it out. The platforms it connects to: ${channelDrivers.map(({ kind }) => kind).join(', ')}.`;
  return problemAt(place, 'config/bad-value', `${name} is true, but ${whyUnused(name)}.`, { key: name, hint });
}

/** The warning about a secret that an earlier version has stored, under a name that no setting can have. */
export function unusableSecret(place: Place, name: string): Problem {
  const key = `secrets.${name}`;
  return problemAt(place, 'config/unused-key', `the secret ${name} is not used: ${whyUnused(key)}.`, { key, hint: removeHint(name) });
}

function removeHint(name: string): string {
  return `${hermetic} secret remove ${name} takes it out.`;
}

export const listHint = 'docs/config.md lists every key.';

function unknownKeySentence(name: string): string {
  return `${name} is ${findSection(name) ? 'a section, not' : 'not'} a key.${didYouMean(nearestKey(name))}`;
}

export function didYouMean(name: string | undefined): string {
  return name === undefined ? '' : ` Did you mean ${name}?`;
}

const longestQuote = 60;

function describe(value: unknown, quiet = false): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  // Security: the value may be a secret in the wrong place.
  if (quiet) return 'what was found (not shown, it may be a secret)';
  if (value === '') return 'empty text';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > longestQuote ? `${value.slice(0, longestQuote)}…` : value);
}
