import { isCollection, isMap, isNode, isScalar, isSeq, type Node, type Pair, parse, type YAMLMap, type YAMLSeq } from 'yaml';
import { parseYaml } from './yaml-layer.ts';

/**
 * Changes one entry of a YAML text and leaves every other byte alone, which yaml's `Document` does not: it keeps most comments, but writes spaces, quotes and
 * line ends anew, and drops the comment above an entry that is removed. undefined when the text is written in a way this cannot
 * follow; the caller must in any case read the result back, since an anchor, a tag or a document end can give it another meaning.
 */
export function spliceIn(text: string, section: string, key: string, value: unknown): string | undefined {
  const entry = `${key}: ${inline(value)}`;
  const root = parseYaml(text).contents;
  if (isNothing(root)) return appendLine(text, `${section}:${eol(text)}  ${entry}`);
  if (!isMap(root)) return undefined;
  const found = pairOf(root, section);
  if (!found) return root.flow ? insertInFlow(text, root, `${section}: {${entry}}`) : appendLine(text, `${section}:${eol(text)}  ${entry}`);
  if (isNothing(found.value)) return insertLineAfter(text, endOf(text, found.key), `${indentOf(text, found.key) ?? ''}  ${entry}`);
  if (!isMap(found.value)) return undefined;
  const existing = pairOf(found.value, key);
  if (existing) return replaceValue(text, existing, inline(value));
  if (found.value.flow) return insertInFlow(text, found.value, entry);
  const indent = indentOf(text, found.value.items[0]?.key);
  return indent === undefined ? undefined : insertLineAfter(text, endOf(text, found.value), indent + entry);
}

/** The text without one entry; undefined when it cannot be taken out. */
export function spliceOut(text: string, section: string, key: string): string | undefined {
  const root = parseYaml(text).contents;
  const map = isMap(root) ? pairOf(root, section)?.value : undefined;
  const pair = isMap(map) ? pairOf(map, key) : undefined;
  if (!isMap(map) || !pair) return undefined;
  const start = startOf(pair.key);
  const end = endOf(text, pair);
  if (!map.flow) {
    const indent = indentOf(text, pair.key);
    return indent === undefined ? undefined : text.slice(0, start - indent.length) + text.slice(afterLine(text, end));
  }
  const index = map.items.indexOf(pair);
  const previous = map.items[index - 1];
  const next = map.items[index + 1];
  if (next) return text.slice(0, start) + text.slice(startOf(next.key));
  return text.slice(0, previous ? endOf(text, previous) : start) + text.slice(end);
}

/** The text with one more entry at the end of a list. */
export function spliceItemIn(text: string, section: string, key: string, item: unknown): string | undefined {
  const value = valueIn(text, section, key);
  if (isNothing(value)) return spliceIn(text, section, key, [item]);
  if (!isSeq(value)) return undefined;
  const last = value.items.at(-1);
  if (!last) return spliceIn(text, section, key, [item]);
  if (value.flow) return insertInFlow(text, value, inline(item));
  const dash = dashBefore(text, last);
  return dash === undefined ? undefined : insertLineAfter(text, endOf(text, last), dash + inline(item));
}

/** The text without one entry of a list; undefined when it cannot be taken out. */
export function spliceItemOut(text: string, section: string, key: string, index: number): string | undefined {
  const list = valueIn(text, section, key);
  const item = isSeq(list) ? list.items[index] : undefined;
  if (!isSeq(list) || item === undefined) return undefined;
  if (list.items.length === 1) return spliceIn(text, section, key, []);
  const [start, end] = [startOf(item), endOf(text, item)];
  if (!list.flow) {
    const dash = dashBefore(text, item);
    return dash === undefined ? undefined : text.slice(0, start - dash.length) + text.slice(afterLine(text, end));
  }
  const next = list.items[index + 1];
  if (next) return text.slice(0, start) + text.slice(startOf(next));
  return text.slice(0, endOf(text, list.items[index - 1])) + text.slice(end);
}

function valueIn(text: string, section: string, key: string): unknown {
  const root = parseYaml(text).contents;
  const map = isMap(root) ? pairOf(root, section)?.value : undefined;
  return isMap(map) ? pairOf(map, key)?.value : undefined;
}

/** The start of the line of an entry that is the first thing on it. */
function dashBefore(text: string, item: unknown): string | undefined {
  return /(?:^|\n)( *- +)$/.exec(text.slice(0, startOf(item)))?.[1];
}

function replaceValue(text: string, pair: Pair, value: string): string {
  const afterKey = endOf(text, pair.key);
  const startOfValue = isNode(pair.value) ? startOf(pair.value) : afterKey;
  const end = endOf(text, pair);
  // A comment, an anchor or a tag between the key and its value stays where it is.
  const plain = /^\s*:?\s*$/.test(text.slice(afterKey, startOfValue));
  const gap = text[end] === '#' ? ' ' : '';
  return text.slice(0, plain ? afterKey : startOfValue) + (plain ? ': ' : '') + value + gap + text.slice(end);
}

function insertInFlow(text: string, within: YAMLMap | YAMLSeq, entry: string): string {
  const last = within.items.at(-1);
  const at = last ? endOf(text, last) : startOf(within) + 1;
  return `${text.slice(0, at)}${last ? ', ' : ''}${entry}${text.slice(at)}`;
}

function insertLineAfter(text: string, offset: number, line: string): string {
  const at = afterLine(text, offset);
  return at < text.length || text.endsWith('\n') ? `${text.slice(0, at)}${line}${eol(text)}${text.slice(at)}` : appendLine(text, line);
}

function appendLine(text: string, line: string): string {
  return `${text}${text === '' || text.endsWith('\n') ? '' : eol(text)}${line}${eol(text)}`;
}

/** On one line, and quoted so that it means the same among lines and between brackets. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, inner]) => `${inline(name)}: ${inline(inner)}`)
      .join(', ')}}`;
  }
  const plain = typeof value === 'string' && /^[\w/$~.]([\w/$~.@+:-]*[\w/$~.@+-])?$/.test(value) && parse(value) === value;
  return plain ? value : JSON.stringify(value);
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === name);
}

function isNothing(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null);
}

function startOf(node: unknown): number {
  return (isNode(node) && node.range?.[0]) || 0;
}

/** Where the last visible character ends, before any comment that follows. */
function endOf(text: string, part: unknown): number {
  const node = part as Pair | Node;
  if ('key' in node) return endOf(text, isNode(node.value) ? node.value : node.key);
  if (isCollection(node) && !node.flow && node.items.length > 0) return endOf(text, node.items.at(-1));
  const end = node.range?.[1] ?? 0;
  return end - (/[\r\n]*$/.exec(text.slice(node.range?.[0] ?? 0, end))?.[0].length ?? 0);
}

/** The spaces before a key that is the first thing on its line. */
function indentOf(text: string, key: unknown): string | undefined {
  const start = startOf(key);
  return /(?:^|\n)( *)$/.exec(text.slice(0, start))?.[1];
}

function afterLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

function eol(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}
