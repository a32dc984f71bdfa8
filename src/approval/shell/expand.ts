import { type DoubleQuotedChild, forEachChild, parse, type SyntaxNode, type Word, type WordPart } from 'unbash';
import { constantOf } from './arithmetic.ts';
import { expandBraces } from './braces.ts';
import { expandParameter, variableValues } from './parameter.ts';
import type { State } from './state.ts';
import { combinations, fieldBreak, inQuotes, outsideQuotes, plainToken, runningIndex, unknown } from './values.ts';

interface Piece {
  text: string;
  /** Comes from an expansion outside quotes, so that blanks in it end a word. */
  splits: boolean;
  /** Makes a word even when it is empty. */
  quoted: boolean;
}

/** Every list of words that one word of a command may become. Commands inside it are judged on the way. */
export function expandWord(word: Word, state: State): string[][] {
  state.judgement.step();
  if (word.parts?.some(({ type }) => type === 'BraceExpansion')) return expandBraced(word, state);
  const pieces = piecesOf(word, state);
  const separators = state.variables.get('IFS')?.[0] ?? ' \t\n';
  return unique(pieces.map((choice) => fieldsOf(choice, separators)));
}

/** The texts it may become where words are not split: after `=`, in a here-document, as a pattern. */
export function expandText(word: Word, state: State): readonly string[] {
  return [...new Set(piecesOf(word, state).map((choice) => choice.map(({ text }) => text).join('')))].map((text) =>
    text.replaceAll(fieldBreak, ' '),
  );
}

/** The texts of a here-document. */
export function expandParts(parts: readonly WordPart[], state: State): readonly string[] {
  return choicesOfParts(parts, state, true).map((choice) => choice.map(({ text }) => text.replaceAll(fieldBreak, ' ')).join(''));
}

/** Judges the commands inside something whose value does not matter here. */
export function visitNested(node: SyntaxNode, state: State): void {
  if (node.type === 'CommandExpansion' || node.type === 'ArithmeticCommandExpansion') {
    if (node.script) state.judgement.runScript(node.script, state.fork(), ['']);
    else state.judgement.report('shell/unparseable');
    return;
  }
  if (node.type === 'Word') {
    if (expandText(node, state).some((text) => runningIndex.test(text))) state.judgement.report('code/unseen');
    return;
  }
  if (node.type === 'ProcessSubstitution') return void choicesOfPart(node, state, false);
  forEachChild(node, (child) => visitNested(child, state));
}

function expandBraced(word: Word, state: State): string[][] {
  const texts = expandBraces(word.text);
  if (!texts) return [[unknown]];
  const lists: string[][][] = [];
  for (const text of texts) {
    const command = parse(`_ ${text}`).commands[0]?.command;
    if (command?.type !== 'Command') return [[unknown]];
    for (const part of command.args) {
      if (part.type !== 'Word') lists.push([[part.text]]);
      else lists.push(withoutBraces(part, state));
    }
  }
  const combined = combinations(lists);
  return combined ? unique(combined.map((choice) => choice.flat())) : [[unknown]];
}

function withoutBraces(word: Word, state: State): string[][] {
  const separators = state.variables.get('IFS')?.[0] ?? ' \t\n';
  return unique(piecesOf(word, state).map((choice) => fieldsOf(choice, separators)));
}

function piecesOf(word: Word, state: State): Piece[][] {
  const pieces = word.parts ? choicesOfParts(word.parts, state, false) : [[literal(word.value)]];
  state.judgement.step(pieces.reduce((sum, choice) => choice.reduce((length, { text }) => length + text.length, sum), 0) / 100);
  if (!/^~[\w.+-]*(?:\/|$)/.test(word.text)) return pieces;
  return pieces.flatMap((choice) => {
    const [first, ...rest] = choice;
    if (!first) return [choice];
    return withHome(first.text, state).map((text) => [{ ...first, text }, ...rest]);
  });
}

function withHome(text: string, state: State): readonly string[] {
  const [, name = '', rest = ''] = /^~([^/]*)(.*)$/s.exec(text) ?? [];
  if (name === '') return (state.variables.get('HOME') ?? [unknown]).map((home) => home + rest);
  if (name === '+') return state.workingDirectories.map((directory) => directory + rest);
  if (name === '-') return (state.variables.get('OLDPWD') ?? [unknown]).map((directory) => directory + rest);
  if (/^[+-]?\d+$/.test(name))
    return [...state.workingDirectories, ...(state.variables.get('DIRSTACK') ?? [unknown])].map((directory) => directory + rest);
  return [(name === 'root' ? '/root' : `/home/${name}`) + rest];
}

function choicesOfParts(parts: readonly WordPart[], state: State, quoted: boolean): Piece[][] {
  const choices = combinations(parts.map((part) => choicesOfPart(part, state, quoted)));
  return choices ? choices.map((choice) => choice.flat()) : [[piece(unknown, quoted)]];
}

function choicesOfPart(part: WordPart | DoubleQuotedChild, state: State, quoted: boolean): Piece[][] {
  switch (part.type) {
    case 'Literal':
    case 'Glob':
      return [[quoted ? { ...literal(part.value), quoted } : literal(part.value)]];
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [[{ ...literal(part.value), quoted: true }]];
    case 'DoubleQuoted':
    case 'LocaleString':
      return choicesOfParts(part.parts, state, true).map((choice) => [{ ...literal(''), quoted: choice.length === 0 }, ...choice]);
    case 'SimpleExpansion':
      return variableValues(part.text.slice(1), state, quoted).map((text) => [piece(text, quoted)]);
    case 'ParameterExpansion':
      return expandParameter(part, state, quoted, expandText).map((text) => [piece(text, quoted)]);
    case 'CommandExpansion': {
      if (!part.script) {
        state.judgement.report('shell/unparseable');
        return [[piece(unknown, quoted)]];
      }
      const texts = state.judgement.runScript(part.script, state.fork(), ['']);
      return texts.map((text) => [piece(text.replace(/\n+$/, ''), quoted)]);
    }
    case 'ArithmeticExpansion': {
      if (!part.expression) {
        if (!/^\$(?:\(\(\s*\)\)|\[\s*\])$/.test(part.text)) state.judgement.report('shell/unparseable');
        return [[piece(plainToken, true)]];
      }
      visitNested(part.expression, state);
      return [[piece(constantOf(part.expression) ?? plainToken, true)]];
    }
    case 'ProcessSubstitution': {
      const path = state.judgement.streamPath();
      if (!part.script) state.judgement.report('shell/unparseable');
      else state.files.set(path, state.judgement.runScript(part.script, state.fork(), part.operator === '>' ? [unknown] : ['']));
      return [[literal(path)]];
    }
    default:
      if ('parts' in part) for (const nested of part.parts ?? []) choicesOfPart(nested, state, quoted);
      return [[literal(part.text)]];
  }
}

function literal(text: string): Piece {
  return { text, splits: false, quoted: false };
}

function piece(text: string, quoted: boolean): Piece {
  return { text: quoted ? inQuotes(text) : outsideQuotes(text), splits: !quoted, quoted: quoted && text !== fieldBreak };
}

function fieldsOf(pieces: readonly Piece[], separators: string): string[] {
  const fields: string[] = [];
  let field: string | undefined;
  const end = (): void => {
    if (field !== undefined) fields.push(field);
    field = undefined;
  };
  for (const { text, splits, quoted } of pieces) {
    if (!splits && !text.includes(fieldBreak)) {
      if (quoted || text !== '') field = (field ?? '') + text;
      continue;
    }
    const isBreak = (character: string): boolean => character === fieldBreak || (splits && separators.includes(character));
    for (const character of text) {
      if (isBreak(character)) end();
      else field = (field ?? '') + character;
    }
  }
  end();
  return fields;
}

function unique(choices: string[][]): string[][] {
  if (choices.length < 2) return choices;
  return [...new Map(choices.map((choice) => [choice.join('\n'), choice])).values()];
}
