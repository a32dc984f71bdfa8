import * as z from 'zod';
import { isObjectName, looksLikeVariable, objectNameFlaw, variableNameRule } from './variable-name.ts';

/** Facts about a kind of value that the schema's types cannot state. */
export interface Notes {
  /** Completes the sentence "KEY must be …"; also the type in the reference. */
  expects: string;
  /** A wrong value may be a secret in the wrong place, so it is never repeated. */
  quiet?: boolean;
  /** Listings show `***` in its place. */
  secret?: boolean;
  /** For a mistake that has an error code of its own. */
  code?: string;
  /** Of the entries of a map that has no others. */
  names?: readonly string[];
}

export const notes = z.registry<Notes>();

/** Marks keys of a section that a running gateway does not follow: a change of theirs counts from the next start. */
export function markRestart<Section extends z.ZodObject>(section: Section, ...keys: readonly (keyof Section['shape'] & string)[]): void {
  for (const key of keys) {
    const schema = section.shape[key] as z.ZodType;
    z.globalRegistry.add(schema, { ...schema.meta(), needsRestart: true });
  }
}

/** Timers cannot wait longer. */
const longestSeconds = 2_147_483;

const nulFlaw = 'it contains a NUL character';

export function text(expects = 'text') {
  return z.string().min(1).refine(withoutNul, nulFlaw).register(notes, { expects });
}

/** Security: ends up among the arguments of other programs, where a leading dash would make it an option. */
export function word(expects: string) {
  return z
    .string()
    .regex(/^[^\s\0-][^\s\0]*$/)
    .register(notes, { expects: `${expects} (no spaces, no leading dash)` });
}

export function choice<const Names extends readonly [string, ...string[]]>(names: Names) {
  return z.enum(names).register(notes, { expects: `one of ${names.join(', ')}` });
}

export function flag() {
  return z.boolean().register(notes, { expects: 'true or false' });
}

export function seconds() {
  return z
    .number()
    .positive()
    .max(longestSeconds)
    .register(notes, { expects: `a number of seconds above 0, at most ${longestSeconds}` });
}

/** 0 is for ever. */
export function secondsOrNoLimit() {
  return z
    .number()
    .min(0)
    .max(longestSeconds)
    .register(notes, { expects: `a number of seconds, 0 to ${longestSeconds}` });
}

export function minutes() {
  const most = Math.floor(longestSeconds / 60);
  return z
    .number()
    .positive()
    .max(most)
    .register(notes, { expects: `a number of minutes above 0, at most ${most}` });
}

export function wholeNumber(what: string, least: number, most?: number) {
  const range = most === undefined ? `${least} or more` : `${least} to ${most}`;
  return z
    .int()
    .min(least)
    .max(most ?? Number.MAX_SAFE_INTEGER)
    .register(notes, { expects: `${what}, ${range}` });
}

/** How long something is kept; 0 is for ever. */
export function retentionDays() {
  return wholeNumber('a whole number of days', 0, 36_500).default(0);
}

export function amount(what: string) {
  return z
    .number()
    .min(0)
    .register(notes, { expects: `${what}, 0 or more` });
}

export function listOf<Item extends z.ZodType>(item: Item, plural: string) {
  return z.array(item).register(notes, { expects: `a list of ${plural}` });
}

/** Quiet, because people paste the token where its variable's name belongs. */
export function variableName() {
  return z
    .string()
    .refine(looksLikeVariable)
    .refine((name) => !isObjectName(name), objectNameFlaw)
    .register(notes, { expects: `the name of an environment variable (${variableNameRule})`, quiet: true });
}

export function variableNames() {
  return listOf(variableName(), 'names of environment variables');
}

export function variables() {
  const value = z
    .union([z.string(), z.number(), z.boolean()])
    .transform(String)
    .refine(withoutNul, nulFlaw)
    .register(notes, { expects: 'text, a number, true or false', quiet: true });
  return z
    .record(variableName(), value)
    .register(notes, { expects: `a map of environment variable names (${variableNameRule}) to values`, quiet: true, secret: true });
}

export function url() {
  return z
    .string()
    .refine(isPlainUrl)
    .register(notes, { expects: 'an http:// or https:// address without a user name or password', quiet: true });
}

function isPlainUrl(value: string): boolean {
  const parsed = URL.parse(value);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '';
}

function withoutNul(value: string): boolean {
  return !value.includes('\0');
}
