import { type Document, isAlias, isMap, isNode, isScalar, LineCounter, type Pair, type ParsedNode, parseDocument } from 'yaml';
import * as z from 'zod';
import { errorText } from '../lib/error-text.ts';
import { nearest } from '../lib/nearest.ts';
import { complaintsAbout, didYouMean, listHint, type Place, problemAt, unknownKey, unusableSecret, unusedSetting } from './explain.ts';
import { type ConfigKey, configSections, findKey, findSection, nearestKey } from './keys.ts';
import type { Layer } from './setting.ts';
import { platformsWithoutChannel, whyUnused } from './unused.ts';

type Parsed = Document.Parsed<ParsedNode>;

/** Reads the text of a config.yaml: every key it sets and everything that is wrong with it. Never throws. */
export function readYamlLayer(text: string, file: string): Layer {
  const layer: Layer = { settings: [], problems: [], warnings: [], tokenVariables: [] };
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  let document: Parsed;
  let values: unknown;
  try {
    document = parseYaml(text, lines);
    const flaws = [...document.errors, ...document.warnings];
    const firstOfLine = new Map(flaws.toReversed().map((flaw) => [lines.linePos(flaw.pos[0]).line, flaw]));
    for (const flaw of [...firstOfLine.values()].toReversed()) {
      const name = flaw.code === 'DUPLICATE_KEY' ? /^[\w.-]*/.exec(text.slice(flaw.pos[0]))?.[0] : undefined;
      const sentence = name === undefined ? `not valid YAML: ${flaw.message}.` : `not valid YAML: ${name || 'a key'} is there twice.`;
      layer.problems.push(problemAt(placeAt(flaw.pos[0]), 'config/bad-yaml', sentence));
    }
    if (layer.problems.length > 0) return layer;
    values = document.toJS();
  } catch (error) {
    // Aliases without an anchor, or so many that expanding them would fill the memory, and nesting deeper than the stack.
    const reason = errorText(error);
    layer.problems.push(problemAt({ file, line: 1, column: 1 }, 'config/bad-yaml', `not valid YAML: ${reason}.`));
    return layer;
  }
  readRoot(document, values, placeAt, layer);
  return layer;
}

export function parseYaml(text: string, lineCounter?: LineCounter): Parsed {
  // Security: the parser's own error messages quote the source, which may hold secrets; `logLevel` keeps it from printing.
  return parseDocument(text, { prettyErrors: false, logLevel: 'error', ...(lineCounter && { lineCounter }) });
}

function readRoot(document: Parsed, values: unknown, placeAt: (offset: number) => Place, layer: Layer): void {
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return;
  if (!isMap(root)) {
    const sentence = `the file must be a map of sections (${configSections.map((section) => section.name).join(', ')}).`;
    layer.problems.push(problemAt(placeAt(root.range[0]), 'config/bad-value', sentence));
    return;
  }
  for (const pair of root.items) {
    const name = keyText(pair);
    const place = placeAt(startOf(pair.key));
    if (!findSection(name) && !platformsWithoutChannel.includes(name)) {
      const meant =
        nearest(
          name,
          configSections.map((section) => section.name),
        ) ?? nearestKey(name);
      layer.problems.push(
        problemAt(place, 'config/unknown-key', `${name} is not a section.${didYouMean(meant)}`, { key: name, hint: listHint }),
      );
      continue;
    }
    const section = isAlias(pair.value) ? pair.value.resolve(document) : pair.value;
    // A section whose keys are all commented out is null to YAML.
    if (section === null || section === undefined || (isScalar(section) && section.value === null)) continue;
    const whole = findKey(name);
    if (whole) readWhole(document, whole, (values as Record<string, unknown>)[name], pair, placeAt, layer);
    else if (isMap(section))
      readSection(document, name, section.items, (values as Record<string, Record<string, unknown>>)[name] ?? {}, placeAt, layer);
    else if (!findSection(name)) layer.warnings.push(unusedSetting(place, name, false));
    else layer.problems.push(problemAt(placeAt(startOf(pair.value)), 'config/bad-value', `${name} must be a map of keys.`, { key: name }));
  }
}

/**
 * Reads a section that is one map. Entries that an earlier version wrote under a name that no entry can have are left
 * out, with a warning.
 */
function readWhole(document: Parsed, key: ConfigKey, value: unknown, pair: Pair, placeAt: (offset: number) => Place, layer: Layer): void {
  const map = isAlias(pair.value) ? pair.value.resolve(document) : pair.value;
  const unused = isMap(map) ? map.items.filter((entry) => whyUnused(`${key.name}.${keyText(entry)}`) !== undefined) : [];
  for (const entry of unused) layer.warnings.push(unusableSecret(placeAt(startOf(entry.key)), keyText(entry)));
  const names = unused.map(keyText);
  const used = names.length === 0 ? value : Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => !names.includes(name)));
  readKey(document, key, used, pair, placeAt, layer);
}

function readSection(
  document: Parsed,
  section: string,
  pairs: readonly Pair[],
  values: Record<string, unknown>,
  placeAt: (offset: number) => Place,
  layer: Layer,
): void {
  for (const pair of pairs) {
    const name = `${section}.${keyText(pair)}`;
    const place = placeAt(startOf(pair.key));
    const key = findKey(name);
    if (!key) {
      // Security: everything but a plain no counts as enabled.
      const isOn = name.endsWith('.enabled') && values.enabled !== false && values.enabled !== null;
      if (whyUnused(name) === undefined) layer.problems.push(unknownKey(place, name));
      else layer.warnings.push(unusedSetting(place, name, isOn));
      if (name.endsWith('_env')) layer.tokenVariables.push(String(values[keyText(pair)]));
      continue;
    }
    const value = values[keyText(pair)];
    // Blank means unset where being unset is possible; where there is a default, it is more likely an unfinished line.
    if ((value === null || value === '') && key.schema instanceof z.ZodOptional) continue;
    readKey(document, key, value, pair, placeAt, layer);
  }
}

function readKey(document: Parsed, key: ConfigKey, value: unknown, pair: Pair, placeAt: (offset: number) => Place, layer: Layer): void {
  const complaints = complaintsAbout(key, value);
  for (const complaint of complaints) {
    const inner = document.getIn([...key.name.split('.'), ...complaint.path], true);
    const offset = startOf(isNode(inner) ? inner : pair.value);
    layer.problems.push(problemAt(placeAt(offset), complaint.code, complaint.sentence, { key: key.name }));
  }
  const { line = 1 } = placeAt(startOf(pair.key));
  if (complaints.length === 0) layer.settings.push({ key, value, origin: { source: 'config.yaml', line } });
}

function keyText(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}

function startOf(node: unknown): number {
  return (isNode(node) && node.range?.[0]) || 0;
}
