import * as z from 'zod';
import { nearest } from '../lib/nearest.ts';
import { isObjectName } from '../lib/variable-name.ts';
import { complaintsAbout, didYouMean, type Place, problemAt, unusedSetting } from './explain.ts';
import { type ConfigKey, configKeys, configSections } from './keys.ts';
import type { Layer, Origin } from './setting.ts';
import { unusedKeyOf } from './unused.ts';

/** A set of environment variables, such as `process.env`. Only the configuration reads one. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Makes a set of variables; of two with one name the later counts. Security: a name that none of them has finds
 * nothing, also not what every object has.
 */
export function environmentOf(variables: Iterable<readonly [name: string, value: string | undefined]>): Record<string, string> {
  const environment = Object.create(null) as Record<string, string>;
  for (const [name, value] of variables) if (value !== undefined && !isObjectName(name)) environment[name] = value;
  return environment;
}

/** Reads the keys set by variables. Blank counts as unset. */
export function readEnvironmentLayer(
  environment: Environment,
  origin: (variable: string) => Origin,
  placeOf: (variable: string) => Place,
): Layer {
  const layer: Layer = { settings: [], problems: [], warnings: [], tokenVariables: [] };
  for (const key of configKeys) {
    const text = environment[key.variable];
    if (text === undefined || text.trim() === '') continue;
    const place = placeOf(key.variable);
    const value = valueOfVariable(key, text);
    if (value === notJson) {
      const sentence = `${key.name} must be ${key.notes.expects}, written as JSON, and this is not JSON.`;
      layer.problems.push(problemAt(place, 'config/bad-value', sentence, { key: key.name }));
      continue;
    }
    const complaints = complaintsAbout(key, value);
    for (const { code, sentence } of complaints) layer.problems.push(problemAt(place, code, sentence, { key: key.name }));
    if (complaints.length === 0) layer.settings.push({ key, value, origin: origin(key.variable) });
  }
  layer.problems.push(...unknownVariables(environment, placeOf));
  for (const [variable, text = ''] of Object.entries(environment)) {
    const name = unusedKeyOf(variable);
    if (name === undefined || text.trim() === '') continue;
    const isOn = name.endsWith('.enabled') && !no.includes(text.trim().toLowerCase());
    layer.warnings.push(unusedSetting(placeOf(variable), name, isOn));
    if (name.endsWith('_env')) layer.tokenVariables.push(text.trim());
  }
  return layer;
}

/**
 * Variables that start like ours and are not. A stray `TERMINAL_…` is left alone: terminal emulators and other programs use such
 * names too.
 */
function unknownVariables(environment: Environment, placeOf: (variable: string) => Place) {
  const known = new Set(configKeys.map((key) => key.variable));
  return Object.entries(environment).flatMap(([variable, text]) => {
    const section = configSections.find(({ name }) => variable.startsWith(`HERMETIC_${name.toUpperCase()}_`));
    if (!section || known.has(variable) || !text?.trim()) return [];
    const leaf = variable.slice(`HERMETIC_${section.name}_`.length).toLowerCase();
    const meant = nearest(
      leaf,
      section.keys.map(({ key = '' }) => key),
    );
    const suggestion = section.keys.find(({ key }) => key === undefined || key === meant)?.variable;
    const sentence = `no key of ${section.name} has this variable.${didYouMean(suggestion)}`;
    return [problemAt(placeOf(variable), 'config/unknown-key', sentence, { key: `${section.name}.${leaf}` })];
  });
}

const notJson = Symbol('not JSON');

/** A text that is not what the key's kind looks like is given back as it is, for the schema to refuse. */
function valueOfVariable(key: ConfigKey, text: string): unknown {
  if (!isCollection(key.kind)) return scalarFromText(key, text);
  const names = listedNames(key, text);
  if (names) return names;
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may be a secret.
    return notJson;
  }
}

/** A list of fixed names may be written with commas between them. undefined when it is not. */
export function listedNames({ kind }: ConfigKey, text: string): string[] | undefined {
  const isOfNames = kind instanceof z.ZodArray && kind.element instanceof z.ZodEnum;
  if (!isOfNames || /^\s*[[-]/.test(text)) return undefined;
  return text.split(',').map((name) => name.trim());
}

/** Lists and maps are written as JSON or YAML. */
export function isCollection(kind: z.ZodType): boolean {
  return kind instanceof z.ZodArray || kind instanceof z.ZodRecord || kind instanceof z.ZodObject;
}

const yes = ['true', 'yes', 'on', '1'];
const no = ['false', 'no', 'off', '0'];

/** Reads text as the key's kind of scalar: text stays text, also when it looks like a number. */
export function scalarFromText(key: ConfigKey, text: string): unknown {
  const trimmed = text.trim();
  if (key.kind instanceof z.ZodNumber) return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : text;
  if (key.kind instanceof z.ZodBoolean) return yes.includes(trimmed.toLowerCase()) || (no.includes(trimmed.toLowerCase()) ? false : text);
  return key.kind instanceof z.ZodEnum ? trimmed : text;
}
