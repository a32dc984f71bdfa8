import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash';
import { globExpression } from './glob.ts';
import type { State } from './state.ts';
import { fieldBreak, hasPlaceholder, plainToken, transformed, unknown } from './values.ts';

type ExpandText = (word: Word, state: State) => readonly string[];

/** Not more than a number or a name, whatever they are. */
const plainVariables = new Set([
  '?',
  '#',
  '$',
  '!',
  'RANDOM',
  'SECONDS',
  'LINENO',
  'UID',
  'EUID',
  'PPID',
  'BASHPID',
  'USER',
  'LOGNAME',
  'HOSTNAME',
]);
for (const name of ['OSTYPE', 'MACHTYPE', 'HOSTTYPE', 'BASH_VERSION', 'EPOCHSECONDS', 'SHLVL', 'COLUMNS', 'LINES', 'REPLY_PID'])
  plainVariables.add(name);

const secretName =
  /(^|_)(TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PWD_?HASH|API_?KEYS?|APIKEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIALS?)(_|$)/i;

/** Every value a variable may have. */
export function variableValues(name: string, state: State, quoted: boolean): readonly string[] {
  if (name === '@' || name === '*') return state.parameters ? [listText(state.parameters, name === '@' && quoted)] : ['', unknown];
  if (/^\d+$/.test(name)) {
    if (name === '0') return ['bash'];
    // A command has no parameters unless an earlier one of the session set some.
    if (!state.parameters) return ['', unknown];
    return [state.parameters[Number(name) - 1] ?? lastOpen(state.parameters)];
  }
  const known = state.variables.get(name);
  if (known) return known;
  const [first] = state.arrays.get(name) ?? [];
  if (first !== undefined) return [first];
  if (name === 'IFS') return [' \t\n'];
  if (name === 'TMPDIR') return ['/tmp'];
  if (name === 'SHELL' || name === 'BASH') return ['/bin/bash'];
  if (name === 'OLDPWD') return [unknown];
  if (plainVariables.has(name)) return [plainToken];
  if (secretName.test(name)) state.judgement.report('credentials/variable', undefined);
  return [unknown];
}

/** What comes after the parameters nobody knows is not known either. */
function lastOpen(parameters: readonly string[]): string {
  const last = parameters.at(-1);
  return last !== undefined && hasPlaceholder(last) && last !== plainToken ? last : '';
}

export function expandParameter(part: ParameterExpansionPart, state: State, quoted: boolean, expandText: ExpandText): readonly string[] {
  if (part.prefix === '#') return [plainToken];
  if (part.prefix === '!') {
    if (part.operation || part.index) return [unknown];
    const names = variableValues(part.parameter, state, true);
    return names.flatMap((name) => (hasPlaceholder(name) ? [unknown] : variableValues(name, state, quoted)));
  }
  if (part.operation?.type === 'Default' && part.operation.operator.endsWith('+'))
    return alternative(part, part.operation.operand, state, expandText);
  const values = part.index ? elementValues(part, part.index, state, quoted, expandText) : variableValues(part.parameter, state, quoted);
  if (!part.operation) return values;
  return [...new Set(values.flatMap((value) => operated(part.parameter, value, part.operation as ParameterOperation, state, expandText)))];
}

/** `${x:+word}` never shows the value itself. */
function alternative(part: ParameterExpansionPart, operand: Word, state: State, expandText: ExpandText): readonly string[] {
  const known = state.variables.get(part.parameter);
  const texts = expandText(operand, state);
  if (known?.every((value) => value !== '' && !hasPlaceholder(value))) return texts;
  return ['', ...texts];
}

function elementValues(
  part: ParameterExpansionPart,
  index: Word,
  state: State,
  quoted: boolean,
  expandText: ExpandText,
): readonly string[] {
  const elements = state.arrays.get(part.parameter) ?? state.variables.get(part.parameter) ?? [unknown];
  if (index.value === '@' || index.value === '*') return [listText(elements, index.value === '@' && quoted)];
  const texts = expandText(index, state);
  const [only] = texts;
  if (texts.length === 1 && only !== undefined && /^\d+$/.test(only) && elements.length > Number(only))
    return [elements[Number(only)] as string];
  return elements.length > 0 ? elements : [''];
}

function listText(elements: readonly string[], separate: boolean): string {
  return elements.join(separate ? fieldBreak : ' ');
}

function operated(name: string, value: string, operation: ParameterOperation, state: State, expandText: ExpandText): readonly string[] {
  switch (operation.type) {
    case 'Default': {
      const texts = expandText(operation.operand, state);
      if (operation.operator.endsWith('?')) return [value];
      if (operation.operator.endsWith('=')) state.variables.set(name, [...texts, value]);
      if (value === '') return texts;
      return hasPlaceholder(value) ? [value, ...texts] : [value];
    }
    case 'Remove':
      return expandText(operation.operand, state).map((pattern) => removed(value, pattern, operation.operator));
    case 'Replace': {
      const replacements = expandText(operation.replacement, state);
      return expandText(operation.pattern, state).flatMap((pattern) =>
        replacements.map((replacement) => replaced(value, pattern, replacement, operation.operator)),
      );
    }
    case 'Slice': {
      const [offset] = expandText(operation.offset, state);
      const [length] = operation.length ? expandText(operation.length, state) : [undefined];
      return [sliced(value, offset ?? '', length)];
    }
    case 'CaseModification': {
      if (hasPlaceholder(value)) return [transformed(value)];
      const change = (text: string): string => (operation.operator.startsWith('^') ? text.toUpperCase() : text.toLowerCase());
      return [operation.operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1)];
    }
    case 'Transform':
      // Shown as a prompt it runs what stands in it.
      if (operation.operand.value === 'P' && /\$\(|`/.test(value)) state.judgement.report('code/unseen', name);
      return [transformed(value)];
    default:
      return [transformed(value)];
  }
}

function removed(value: string, pattern: string, operator: '#' | '##' | '%' | '%%'): string {
  if (hasPlaceholder(value) || hasPlaceholder(pattern)) return transformed(value + pattern);
  const expression = globExpression(pattern, true);
  if (!expression) return unknown;
  const lengths = Array.from({ length: value.length + 1 }, (_, index) => index);
  if (operator.length === 2) lengths.reverse();
  const fromStart = operator.startsWith('#');
  for (const length of lengths) {
    const candidate = fromStart ? value.slice(0, length) : value.slice(value.length - length);
    if (expression.test(candidate)) return fromStart ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}

function replaced(value: string, pattern: string, replacement: string, operator: string): string {
  if (hasPlaceholder(value) || hasPlaceholder(pattern)) return transformed(value + pattern);
  if (/[*?[\\]/.test(pattern)) return unknown;
  if (operator === '//') return value.replaceAll(pattern, () => replacement);
  if (operator === '/#') return value.startsWith(pattern) ? replacement + value.slice(pattern.length) : value;
  if (operator === '/%') return value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) + replacement : value;
  return value.replace(pattern, () => replacement);
}

function sliced(value: string, offset: string, length: string | undefined): string {
  const from = Number(offset);
  const size = length === undefined ? value.length : Number(length);
  if (hasPlaceholder(value) || !Number.isInteger(from) || !Number.isInteger(size)) return transformed(value);
  const start = from < 0 ? Math.max(0, value.length + from) : from;
  return value.slice(start, size < 0 ? value.length + size : start + size);
}
