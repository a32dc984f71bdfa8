import { type DoubleQuotedChild, forEachChild, parse, type SyntaxNode, type Word, type WordPart } from 'unbash';
import { expandBraces } from './braces.ts';
import { computesFetched, expandParameter, variableValues } from './parameter.ts';
import type { Shell } from './shell.ts';
import { combinations, fieldBreak, inQuotes, outsideQuotes, plainToken, runningIndex, unknown } from './values.ts';
import { judgeVariable } from './variables.ts';
import { runScript } from './walk.ts';

interface Piece {
  text: string;
  /** Comes from an expansion outside quotes, so that blanks in it end a word. */
  splits: boolean;
  /** Makes a word even when it is empty. */
  quoted: boolean;
}

/** Every list of words that one word of a command may become. Commands inside it are judged on the way. */
export function expandWord(word: Word, shell: Shell): string[][] {
  shell.judgement.step();
  if (word.parts?.some(({ type }) => type === 'BraceExpansion')) return expandBraced(word, shell);
  return fieldChoices(word, shell);
}

/** The texts it may become where words are not split: after `=`, in a here-document, as a pattern. */
export function expandText(word: Word, shell: Shell): readonly string[] {
  return [...new Set(piecesOf(word, shell).map((choice) => choice.map(({ text }) => text).join('')))].map((text) =>
    text.replaceAll(fieldBreak, ' '),
  );
}

/** The texts of a here-document. */
export function expandParts(parts: readonly WordPart[], shell: Shell): readonly string[] {
  return choicesOfParts(parts, shell, true).map((choice) => choice.map(({ text }) => text.replaceAll(fieldBreak, ' ')).join(''));
}

/** Judges the commands inside something whose value does not matter here. */
export function visitNested(node: SyntaxNode, shell: Shell): void {
  if (node.type === 'CommandExpansion' || node.type === 'ArithmeticCommandExpansion') {
    if (node.script) runScript(node.script, shell.fork(), ['']);
    else shell.judgement.report('shell/unparseable');
    return;
  }
  if (node.type === 'Word') {
    if (expandText(node, shell).some((text) => runningIndex.test(text))) shell.judgement.report('code/unseen');
    return;
  }
  const assigned =
    node.type === 'ArithmeticBinary' && /^(?:[-+*/%&|^]|<<|>>)?=$/.test(node.operator)
      ? node.left
      : node.type === 'ArithmeticUnary' && /^(?:\+\+|--)$/.test(node.operator)
        ? node.operand
        : undefined;
  if (assigned?.type === 'ArithmeticWord') {
    const [name = ''] = assigned.value.split('[');
    shell.set(name, [plainToken]);
    judgeVariable(name, [plainToken], shell, shell.exported.has(name));
  }
  if (node.type === 'ArithmeticWord' && computesFetched(node.value, shell)) shell.judgement.report('code/unseen', undefined, node.value);
  if (node.type === 'TestBinary' && /^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) {
    const texts = [node.left, node.right].flatMap((side) => expandText(side, shell));
    if (texts.some((text) => computesFetched(text, shell))) shell.judgement.report('code/unseen', undefined, '[[');
  }
  if (node.type === 'ProcessSubstitution') return void choicesOfPart(node, shell, false);
  forEachChild(node, (child) => visitNested(child, shell));
}

function expandBraced(word: Word, shell: Shell): string[][] {
  const texts = /\$\(|`/.test(word.text) ? undefined : expandBraces(word.text);
  if (!texts) {
    // Security: what stands in it runs all the same.
    for (const part of word.parts ?? []) visitNested(part, shell);
    return [[unknown]];
  }
  const lists: string[][][] = [];
  // An empty one is no word.
  for (const text of texts.filter((one) => one !== '')) {
    const script = parse(`_ ${text}`);
    const command = script.commands[0]?.command;
    const isWord = command?.type === 'Command' && command.args.length === 1 && command.redirects.length === 0 && !script.errors?.length;
    if (!isWord || script.commands.length !== 1 || text.startsWith('#')) {
      shell.judgement.report('shell/unparseable');
      return [[unknown]];
    }
    for (const part of command.args) lists.push(part.type === 'Word' ? fieldChoices(part, shell) : [[part.text]]);
  }
  const combined = combinations(lists);
  return combined ? unique(combined.map((choice) => choice.flat())) : [[unknown]];
}

function fieldChoices(word: Word, shell: Shell): string[][] {
  const separators = shell.variables.get('IFS') ?? [' \t\n'];
  return unique(piecesOf(word, shell).flatMap((choice) => separators.map((characters) => fieldsOf(choice, characters))));
}

function piecesOf(word: Word, shell: Shell): Piece[][] {
  const pieces = word.parts ? choicesOfParts(word.parts, shell, false) : [[literal(word.value)]];
  const length = pieces.reduce((sum, choice) => choice.reduce((characters, { text }) => characters + text.length, sum), 0);
  shell.judgement.step((pieces.length - 1) / 4 + length / 100);
  if (!/^~[\w.+-]*(?:\/|$)/.test(word.text)) return pieces;
  return pieces.flatMap((choice) => {
    const [first, ...rest] = choice;
    if (!first) return [choice];
    return withHome(first.text, shell).map((text) => [{ ...first, text }, ...rest]);
  });
}

function withHome(text: string, shell: Shell): readonly string[] {
  const [, name = '', rest = ''] = /^~([^/]*)(.*)$/s.exec(text) ?? [];
  if (name === '') return (shell.variables.get('HOME') ?? [unknown]).map((home) => home + rest);
  if (name === '+') return shell.workingDirectories.map((directory) => directory + rest);
  if (name === '-') return (shell.variables.get('OLDPWD') ?? [unknown]).map((directory) => directory + rest);
  if (/^[+-]?\d+$/.test(name))
    return [...shell.workingDirectories, ...(shell.variables.get('DIRSTACK') ?? [unknown])].map((directory) => directory + rest);
  return [(name === 'root' ? '/root' : `/home/${name}`) + rest];
}

function choicesOfParts(parts: readonly WordPart[], shell: Shell, quoted: boolean): Piece[][] {
  const choices = combinations(parts.map((part) => choicesOfPart(part, shell, quoted)));
  return choices ? choices.map((choice) => choice.flat()) : [[piece(unknown, quoted)]];
}

function choicesOfPart(part: WordPart | DoubleQuotedChild, shell: Shell, quoted: boolean): Piece[][] {
  switch (part.type) {
    case 'Literal':
    case 'Glob':
      return [[quoted ? { ...literal(part.value), quoted } : literal(part.value)]];
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [[{ ...literal(part.value), quoted: true }]];
    case 'DoubleQuoted':
    case 'LocaleString':
      return choicesOfParts(part.parts, shell, true).map((choice) => [{ ...literal(''), quoted: choice.length === 0 }, ...choice]);
    case 'SimpleExpansion':
      return variableValues(part.text.slice(1), shell, quoted).map((text) => [piece(text, quoted)]);
    case 'ParameterExpansion':
      return expandParameter(part, shell, quoted, expandText).map((text) => [piece(text, quoted)]);
    case 'CommandExpansion': {
      if (!part.script) {
        shell.judgement.report('shell/unparseable');
        return [[piece(unknown, quoted)]];
      }
      const texts = runScript(part.script, shell.fork(), ['']);
      return (texts.length === 0 ? [''] : texts).map((text) => [piece(text, quoted)]);
    }
    case 'ArithmeticExpansion': {
      shell.judgement.files.doubt();
      if (!part.expression) {
        if (!/^\$(?:\(\(\s*\)\)|\[\s*\])$/.test(part.text)) shell.judgement.report('shell/unparseable');
        return [[piece(plainToken, true)]];
      }
      visitNested(part.expression, shell);
      return [[piece(plainToken, true)]];
    }
    case 'ProcessSubstitution': {
      if (!part.script) shell.judgement.report('shell/unparseable');
      const printed = part.script ? runScript(part.script, shell.fork(), [unknown]) : [unknown];
      return [[literal(shell.judgement.streamOf(printed))]];
    }
    default:
      if ('parts' in part) for (const nested of part.parts ?? []) choicesOfPart(nested, shell, quoted);
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
