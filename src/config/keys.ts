import * as z from 'zod';
import { nearest } from '../lib/nearest.ts';
import { type Notes, notes } from '../lib/setting-kinds.ts';
import { configSchema } from './schema.ts';

/** One key of the schema, with everything that loading, listing and documenting need to know. */
export interface ConfigKey {
  /** `section.key`, or the name of a section that is one map. */
  readonly name: string;
  readonly section: string;
  /** undefined: the whole section. */
  readonly key: string | undefined;
  readonly variable: string;
  readonly description: string;
  /** undefined: no default, the key may be unset. */
  readonly fallback: unknown;
  readonly schema: z.ZodType;
  /** The schema without its default. */
  readonly kind: z.ZodType;
  readonly notes: Notes;
  /** A running gateway keeps the value it was started with. */
  readonly needsRestart: boolean;
}

export interface ConfigSection {
  readonly name: string;
  readonly description: string;
  readonly keys: readonly ConfigKey[];
}

export const configSections: readonly ConfigSection[] = Object.entries(configSchema.shape).map(([name, wrapped]) => {
  if (wrapped instanceof z.ZodDefault)
    return { name, description: wrapped.description ?? '', keys: [describeKey(name, undefined, wrapped)] };
  const section = wrapped.unwrap();
  const keys = Object.entries(section.shape).map(([key, schema]) => describeKey(name, key, schema));
  return { name, description: section.description ?? '', keys };
});

export const configKeys: readonly ConfigKey[] = configSections.flatMap((section) => section.keys);

const keysByName = new Map(configKeys.map((key) => [key.name, key]));

/** Also one entry of a section that is one map, such as `secrets.GITHUB_TOKEN`. */
export function findKey(name: string): ConfigKey | undefined {
  const known = keysByName.get(name);
  const [section = '', entry] = name.split(/\.(.*)/s);
  return known ?? (entry === undefined ? undefined : entryKey(keysByName.get(section), entry));
}

function entryKey(map: ConfigKey | undefined, entry: string): ConfigKey | undefined {
  if (map?.key !== undefined || !(map?.kind instanceof z.ZodRecord) || entry === '') return undefined;
  const schema = map.kind.def.valueType as z.ZodType;
  const isName = (map.kind.def.keyType as z.ZodType).safeParse(entry).success;
  return isName
    ? { ...map, name: `${map.section}.${entry}`, key: entry, schema, kind: schema, fallback: undefined, notes: notesOf(schema) }
    : undefined;
}

export function isWholeSection({ key }: ConfigKey): boolean {
  return key === undefined;
}

/** The value of a key in the values of a configuration. */
export function valueAt(values: object, { section, key }: Pick<ConfigKey, 'section' | 'key'>): unknown {
  const found = (values as Record<string, Record<string, unknown> | undefined>)[section];
  return key === undefined ? found : found?.[key];
}

/** Puts the value of a key into the values of a configuration. */
export function setAt(values: object, { section, key }: Pick<ConfigKey, 'section' | 'key'>, value: unknown): void {
  const before = valueAt(values, { section, key: undefined });
  Object.assign(values, { [section]: key === undefined ? value : { ...(before ?? {}), [key]: value } });
}

export function findSection(name: string): ConfigSection | undefined {
  return configSections.find((section) => section.name === name);
}

/** The key a person most likely meant by a name that does not exist. */
export function nearestKey(name: string): string | undefined {
  const leaf = name.slice(name.lastIndexOf('.') + 1);
  const elsewhere = configKeys.filter((key) => key.key === leaf);
  if (elsewhere.length === 1) return elsewhere[0]?.name;
  return nearest(name, keysByName.keys(), Math.max(2, Math.floor(leaf.length / 3)));
}

/** The notes on the value at a path inside a key's value: an entry of a list or of a map. */
export function notesAt(key: ConfigKey, path: readonly PropertyKey[]): Notes {
  const inner = path.reduce<z.core.$ZodType | undefined>((kind, step) => withoutDefault(entryOf(kind, step) as z.ZodType), key.kind);
  return (inner && notes.get(inner)) ?? key.notes;
}

function entryOf(kind: z.core.$ZodType | undefined, step: PropertyKey): z.core.$ZodType | undefined {
  if (kind instanceof z.ZodArray) return kind.element;
  if (kind instanceof z.ZodRecord) return kind.def.valueType;
  const map = kind instanceof z.ZodUnion ? kind.options.find((option) => option instanceof z.ZodObject) : kind;
  return map instanceof z.ZodObject ? map.shape[String(step)] : undefined;
}

export function notesOf(kind: z.ZodType, name = ''): Notes {
  const known = notes.get(kind);
  if (!known) throw new Error(`${name} does not say what it expects`);
  return known;
}

function describeKey(section: string, key: string | undefined, schema: z.ZodType): ConfigKey {
  const kind = withoutDefault(schema);
  const name = key === undefined ? section : `${section}.${key}`;
  const { description = '', variable, needsRestart } = schema.meta() ?? {};
  return {
    name,
    section,
    key,
    variable: typeof variable === 'string' ? variable : variableFor(section, name),
    description,
    fallback: schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined,
    schema,
    kind,
    notes: notesOf(kind, name),
    needsRestart: needsRestart === true,
  };
}

function variableFor(section: string, name: string): string {
  const variable = name.replace('.', '_').toUpperCase();
  return section === 'terminal' ? variable : `HERMETIC_${variable}`;
}

export function withoutDefault(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? withoutDefault(schema.unwrap() as z.ZodType) : schema;
}
