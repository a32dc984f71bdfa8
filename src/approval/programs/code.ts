import { shellQuote } from '../../lib/shell-quote.ts';
import { isCredential, isDoubtfulCredential, isOwn, isProtectedRoot } from '../checks/paths.ts';
import { resolvePaths } from '../checks/resolve.ts';
import { rules } from '../rules.ts';
import type { State } from '../shell/state.ts';
import { foundApart } from './apart.ts';
import { reportUnseen } from './builtins.ts';
import { type CodeLanguage, isHarmlessCode } from './harmless-code.ts';

/** Reports what code in another language would do, as far as its words say. */
export function judgeCode(language: CodeLanguage, code: string, program: string, state: State): void {
  if (code.trim() === '') return;
  if (reportUnseen(code, program, state)) return;
  const { ownPaths, home } = state.circumstances;
  const literals = literalsOf(code);
  const names = ownPaths.flatMap((own) => [own, own.replace(home, '~'), own.slice(own.lastIndexOf('/'))]);
  const beyond = withoutSession(code, state);
  if (names.some((name) => name.length > 4 && beyond.includes(name))) state.judgement.report('hermetic/files', program, ownPaths);
  const isHarmless = isHarmlessCode(language, code);
  const reads = !isHarmless || readingWords.test(code);
  for (const literal of literals) {
    for (const path of /\s/.test(literal) ? [] : resolvePaths(literal, state)) {
      const secret = path !== undefined && (isCredential(path, state) || (/\.\w/.test(literal) && isDoubtfulCredential(path)));
      if (secret) state.judgement.report('credentials/read', program, [path]);
      if (path !== undefined && reads && /\/|^\.\.$/.test(literal) && isOwn(path, state))
        state.judgement.report('hermetic/read', program, [path]);
    }
  }
  if (isHarmless) return;
  state.judgement.report('code/inline', program);
  if (starts.test(code)) for (const command of [...literals, ...listsOf(code)].slice(0, 40)) reportHard(command, state);
  if (!deletes.test(code)) return;
  for (const literal of literals.filter((text) => /^[~/.]/.test(text))) {
    for (const path of resolvePaths(literal, state)) {
      if (path !== undefined && isProtectedRoot(path, state)) state.judgement.report('files/delete-system', program, [path]);
    }
  }
}

/** Without the paths in it that are the session's, though they are below Hermetic's own. */
function withoutSession(code: string, state: State): string {
  const isWhole = (rest: string): boolean => /^(?![\w.-])(?!\S*\.\.)/.test(rest);
  return (state.circumstances.sessionPaths ?? []).reduce(
    (text, path) => text.split(path).reduce((before, rest) => before + (isWhole(rest) ? '' : path) + rest),
    code,
  );
}

const readingWords = /\b(?:open|read|require|path|load|list|scan|walk|glob|file|dir|io|include|stat|exists|getline|chdir|linecache)/i;
const starts = /system|subprocess|popen|exec|spawn|child_process|fork|`|shell|getline|Process|\bcall\b|\brun\b|\|/i;
const deletes = /rmtree|rmSync|rm_rf|rm_r|rmdir|remove|unlink|removedirs|\brm\b/;

/** Security: what nobody may allow stays forbidden when another language starts it. */
function reportHard(command: string, state: State): void {
  const found = foundApart(state, (inner) => void inner.judgement.runSource(command, inner, ['']));
  for (const { rule, program, paths } of found) if (rules[rule].hard) state.judgement.report(rule, program, paths);
}

function literalsOf(code: string): string[] {
  return [...code.matchAll(/"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`|%x[({[]([^)}\]]*)/g)].map((match) =>
    unescaped(match.slice(1).find((text) => text !== undefined) ?? ''),
  );
}

/** Commands that are given word by word. */
function listsOf(code: string): string[] {
  return [...code.matchAll(/[[(]([^[\]()]*)[\])]/g)]
    .map(([, list]) =>
      literalsOf(list ?? '')
        .map(shellQuote)
        .join(' '),
    )
    .filter((command) => command.includes(' '));
}

function unescaped(text: string): string {
  return text
    .replace(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\(['"\\/`])/g, '$1');
}
