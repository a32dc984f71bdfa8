import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash';
import type { Shell } from './shell.ts';
import { secretNames } from './tables/variables.ts';
import { below, fieldBreak, hasPlaceholder, isUnknown, ownProcess, plainToken, runningIndex, transformed, unknown } from './values.ts';
import { judgeVariable } from './variables.ts';

type ExpandText = (word: Word, shell: Shell) => readonly string[];

/** Not more than a number or a name. */
const plainVariables = new Set(
  ('? # RANDOM SECONDS LINENO UID EUID BASHPID OSTYPE MACHTYPE HOSTTYPE BASH_VERSION EPOCHSECONDS ' + 'EPOCHREALTIME').split(' '),
);

const maybeEmpty = new Set('USER LOGNAME HOSTNAME SHLVL COLUMNS LINES OPTIND BASH_LINENO GROUPS PIPESTATUS'.split(' '));

/** Every value a variable may have. */
export function variableValues(name: string, shell: Shell, quoted: boolean): readonly string[] {
  if (name === '@' || name === '*') return shell.parameters ? [listText(shell.parameters, name, quoted, shell)] : ['', unknown];
  if (name === '!' || name === '$') return [ownProcess];
  if (name === '_') return [unknown];
  if (/^\d+$/.test(name)) {
    if (name === '0') return shell.variables.get('0') ?? ['bash'];
    shell.judgement.lookThrough(shell.parameters);
    // A command has no parameters unless an earlier one of the session set some.
    if (!shell.parameters || shell.parameters.slice(0, Number(name)).some(isUnknown)) return ['', unknown];
    return [shell.parameters[Number(name) - 1] ?? ''];
  }
  const known = shell.variables.get(name);
  if (known) return known;
  const [first] = shell.arrays.get(name) ?? [];
  if (first !== undefined) return [first];
  if (name === 'IFS') return [' \t\n'];
  if (name === 'TMPDIR') return ['/tmp'];
  if (plainVariables.has(name)) return [plainToken];
  if (maybeEmpty.has(name)) return ['', plainToken];
  if (secretNames.test(name)) shell.judgement.report('credentials/variable', undefined, `$${name}`);
  return [unknown];
}

export function expandParameter(part: ParameterExpansionPart, shell: Shell, quoted: boolean, expandText: ExpandText): readonly string[] {
  if (part.prefix === '#') return [plainToken];
  if (part.prefix === '!') return indirect(part, shell, quoted, expandText);
  const { operation } = part;
  if (operation?.type === 'Default' && operation.operator.endsWith('+')) return ['', ...expandText(operation.operand, shell)];
  const values = part.index ? elementValues(part, part.index, shell, quoted, expandText) : variableValues(part.parameter, shell, quoted);
  if (!operation) return values;
  const isList = /^[@*]$/.test(part.parameter) || /^[@*]$/.test(part.index?.value ?? '');
  if (isList && operation.type !== 'Default') return [unknown];
  return [...new Set(values.flatMap((value) => operated(part.parameter, value, operation, shell, expandText)))];
}

function indirect(part: ParameterExpansionPart, shell: Shell, quoted: boolean, expandText: ExpandText): readonly string[] {
  shell.judgement.files.doubt();
  // Security: the name in a variable may be an element of an array, whose index runs what stands in it.
  const names = part.operation || part.index ? [unknown] : variableValues(part.parameter, shell, true);
  if (part.index) expandText(part.index, shell);
  return names.flatMap((name) => {
    if (/^\w+$/.test(name)) return variableValues(name, shell, quoted);
    if (runningIndex.test(name)) shell.judgement.report('code/unseen', undefined, name);
    return [unknown];
  });
}

function elementValues(
  part: ParameterExpansionPart,
  index: Word,
  shell: Shell,
  quoted: boolean,
  expandText: ExpandText,
): readonly string[] {
  const elements = shell.arrays.get(part.parameter) ?? shell.variables.get(part.parameter) ?? [unknown];
  if (index.value === '@' || index.value === '*') return [listText(elements, index.value, quoted, shell)];
  shell.judgement.lookThrough(elements);
  const texts = indexTexts(index, shell, expandText);
  const [only] = texts;
  const element =
    shell.arrays.has(part.parameter) && texts.length === 1 && /^(?:0|[1-9]\d*)$/.test(only ?? '') ? elements[Number(only)] : undefined;
  if (element !== undefined && !elements.some(isUnknown)) return [element];
  return elements.length > 0 ? elements : [''];
}

function indexTexts(index: Word, shell: Shell, expandText: ExpandText): readonly string[] {
  const texts = expandText(index, shell);
  shell.judgement.files.doubt();
  if (texts.some((text) => runningIndex.test(text) || computesFetched(text, shell))) shell.judgement.report('code/unseen');
  return texts;
}

/** Security: arithmetic takes the value of a name for an expression, and runs what stands in the index of an array in it. */
export function computesFetched(text: string, shell: Shell): boolean {
  if (isUnknown(text)) return true;
  return (text.match(/[A-Za-z_]\w*/g) ?? []).some((name) => {
    const values = shell.variables.get(name) ?? shell.arrays.get(name) ?? [];
    shell.judgement.lookThrough(values);
    return values.some((value) => isUnknown(value) || runningIndex.test(value));
  });
}

/** `"$*"` puts the first separator between them; where that is not the usual one, what comes out is not followed. */
function listText(elements: readonly string[], name: string, quoted: boolean, shell: Shell): string {
  // Each of them becomes a word, and costs as much as one that is written out.
  shell.judgement.step(elements.length);
  if (name === '@' || !quoted) return elements.join(fieldBreak);
  return shell.variables.has('IFS') ? unknown : elements.join(' ');
}

function operated(name: string, value: string, operation: ParameterOperation, shell: Shell, expandText: ExpandText): readonly string[] {
  shell.judgement.step(1 + value.length / 100);
  switch (operation.type) {
    case 'Default': {
      const texts = expandText(operation.operand, shell);
      // Security: where it fails, here and in arithmetic, the command ends.
      if (operation.operator.endsWith('?')) {
        shell.judgement.files.doubt();
        return [value];
      }
      if (operation.operator.endsWith('=')) {
        shell.set(name, [...texts, value]);
        judgeVariable(name, texts, shell, shell.exported.has(name));
      }
      if (value === '') return operation.operator.startsWith(':') ? texts : ['', ...texts];
      return hasPlaceholder(value) ? [value, ...texts] : [value];
    }
    case 'Remove':
      return expandText(operation.operand, shell).map((pattern) => removed(value, pattern, operation.operator));
    case 'Replace': {
      const replacements = expandText(operation.replacement, shell);
      return expandText(operation.pattern, shell).flatMap((pattern) =>
        replacements.map((replacement) => replaced(value, pattern, replacement, operation.operator)),
      );
    }
    case 'Slice': {
      const offsets = indexTexts(operation.offset, shell, expandText);
      const lengths = operation.length ? indexTexts(operation.length, shell, expandText) : [undefined];
      return offsets.flatMap((offset) => lengths.map((length) => sliced(value, offset, length)));
    }
    case 'CaseModification': {
      if (hasPlaceholder(value)) return [transformed(value)];
      const change = (text: string): string => (operation.operator.startsWith('^') ? text.toUpperCase() : text.toLowerCase());
      return [operation.operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1)];
    }
    case 'Transform':
      // Security: shown as a prompt, a value runs what stands in it.
      if (operation.operand.value === 'P') shell.judgement.report('code/unseen', undefined, `\${${name}@P}`);
      return [transformed(value)];
    default:
      return [transformed(value)];
  }
}

/** Follows patterns that are a text with at most one star before or behind it; what others leave is not known. */
function removed(value: string, pattern: string, operator: '#' | '##' | '%' | '%%'): string {
  const [, before, text = '', behind] = /^(\*?)([^*?[\\(]+)(\*?)$/.exec(pattern) ?? [];
  if (before === undefined || (before && behind) || hasPlaceholder(pattern)) return unknown;
  const fromStart = operator.startsWith('#');
  const longest = operator.length === 2;
  if (hasPlaceholder(value)) return value.endsWith(below) && !fromStart && !behind ? value : unknown;
  if (fromStart) {
    if (behind) return value.startsWith(text) ? (longest ? '' : value.slice(text.length)) : value;
    const at = before ? (longest ? value.lastIndexOf(text) : value.indexOf(text)) : value.startsWith(text) ? 0 : -1;
    return at === -1 ? value : value.slice(at + text.length);
  }
  if (before) return value.endsWith(text) ? (longest ? '' : value.slice(0, -text.length)) : value;
  const end = behind ? (longest ? value.indexOf(text) : value.lastIndexOf(text)) : value.endsWith(text) ? value.length - text.length : -1;
  return end === -1 ? value : value.slice(0, end);
}

function replaced(value: string, pattern: string, replacement: string, operator: string): string {
  if (hasPlaceholder(value) || hasPlaceholder(pattern)) return unknown;
  if (/[*?[\\(]/.test(pattern) || pattern === '' || replacement.includes('&')) return unknown;
  if (operator === '//') return value.replaceAll(pattern, () => replacement);
  if (operator === '/#') return value.startsWith(pattern) ? replacement + value.slice(pattern.length) : value;
  if (operator === '/%') return value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) + replacement : value;
  return value.replace(pattern, () => replacement);
}

function sliced(value: string, offset: string, length: string | undefined): string {
  const plain = /^ ?-?(?:0|[1-9]\d*)$/;
  const from = Number(offset);
  const size = length === undefined ? value.length : Number(length);
  if (hasPlaceholder(value) || !plain.test(offset) || !plain.test(length ?? '0') || -from > value.length) return unknown;
  const start = from < 0 ? Math.max(0, value.length + from) : from;
  return value.slice(start, size < 0 ? value.length + size : start + size);
}
