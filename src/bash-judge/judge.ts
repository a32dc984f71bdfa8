import type { Finding, JudgeContext, JudgedAction, Verdict } from '../core/approval.ts';
import { hasInvisible } from '../lib/visible.ts';
import { mayTouch } from './host-paths.ts';
import { maxCharacters } from './parse.ts';

import { loadExports } from './session.ts';
import { type Found, Judgement, Shell, TooComplex } from './shell.ts';
import type { Programs } from './tables/program.ts';
import { rules } from './tables/rules.ts';
import { resolvePaths, touchList, touchRead, touchWrite } from './touch.ts';
import { unknown } from './values.ts';
import { runSource } from './walk.ts';

/**
 * Tells whether an action is harmless, always denied, or for a person to decide. Pure and total. Takes time
 * bounded by the length of the text and a number of steps.
 */
export function judge(action: JudgedAction, context: JudgeContext, added: Programs = {}): Verdict {
  // The sandbox is the boundary: a command may ruin it.
  if (context.disposable && context.hostPaths.length === 0) return { kind: 'allow' };
  const judgement = new Judgement(context, added);
  return verdictOn(
    foundBy(judgement, () => look(action, judgement)),
    judgement,
  );
}

function foundBy(judgement: Judgement, lookAt: () => void): readonly Found[] {
  try {
    lookAt();
  } catch (error) {
    // Security: what cannot be judged to its end is not harmless.
    const rule = error instanceof TooComplex || error instanceof RangeError ? 'shell/too-complex' : 'shell/unparseable';
    judgement.found.set(rule, { rule, program: undefined, target: undefined, paths: [] });
  }
  if (judgement.namesHermetic && judgement.endsProcesses)
    judgement.found.set('hermetic/process', { rule: 'hermetic/process', program: 'kill', target: undefined, paths: [] });
  return [...judgement.found.values()];
}

function look(action: JudgedAction, judgement: Judgement): undefined {
  const { context } = judgement;
  if (action.kind === 'command') return lookAtSource(action.command, shellIn(action.cwd, judgement));
  if (action.kind === 'input') return lookAtInput(action, judgement);
  const shell = new Shell(judgement, action.cwd);
  if (action.kind !== 'script') {
    const path = action.path.replace(/^~(?=\/|$)/, context.home);
    // Of an edited file the rest stays as it came.
    if (action.kind === 'write') for (const one of resolvePaths(path, shell)) judgement.files.settleWritten(one ?? unknown);
    const touch = action.kind === 'write' || action.kind === 'edit' ? touchWrite : touchRead;
    return touch(path, `${action.kind}_file`, shell);
  }
  if (!context.disposable) judgement.report('script/run', action.language);
  if (action.code.length > maxCharacters) judgement.report('shell/too-complex');
  else if (action.language === 'bash') lookAtSource(action.code, shellIn(action.cwd, judgement));
}

function shellIn(cwd: string, judgement: Judgement): Shell {
  const shell = new Shell(judgement, cwd);
  loadExports(shell);
  // Security: a session that has left its workspace works where a relative path means something else.
  touchList('.', undefined, shell);
  return shell;
}

function lookAtSource(text: string, shell: Shell): undefined {
  if (hasInvisible(text)) shell.judgement.report('shell/hidden-characters');
  runSource(text, shell, [unknown]);
  for (const code of shell.judgement.traps.slice(0)) runSource(code, shell.fork(), [unknown]);
}

/** As what a shell reads, and as code for this process, which was judged when it was started. */
function lookAtInput({ process, text, cwd, before = '' }: Extract<JudgedAction, { kind: 'input' }>, judgement: Judgement): undefined {
  const place = cwd ?? (judgement.context.home || '/');
  const given = (source: string, stdin: string): readonly Found[] => {
    const one = new Judgement(judgement.context, judgement.added);
    return foundBy(one, () => void runSource(source, shellIn(place, one), [stdin]));
  };
  lookAtSource(text, shellIn(place, judgement));
  const known = new Set(given(process, '').map(keyOf));
  // Security: a denied action can be put together from harmless pieces, such as a directory and then a file in it.
  const whole = before === '' ? [] : given(before + text, '').filter(({ rule }) => rules[rule].answer === 'deny');
  for (const found of [...given(process, text).filter((one) => !known.has(keyOf(one))), ...whole]) judgement.found.set(keyOf(found), found);
}

function keyOf({ rule, program, target }: Found): string {
  return `${rule}\n${program ?? ''}\n${target ?? ''}`;
}

function verdictOn(found: readonly Found[], { context, files }: Judgement): Verdict {
  const counted = context.disposable ? found.filter((one) => countsInside(one, context)) : found;
  const later = context.disposable || files.brings.length === 0 ? {} : { brings: files.brings };
  if (counted.length === 0) return { kind: 'allow', ...later };
  const findings = counted.map(({ rule, program, target }): Finding => {
    const { title, why, grant } = rules[rule];
    return { rule, title, why, program, target, byProgram: grant === 'program' };
  });
  return counted.some(({ rule }) => rules[rule].answer === 'deny') ? { kind: 'deny', findings } : { kind: 'ask', findings, ...later };
}

/** Deletions of the host's files, where they can be written. */
const deletions: ReadonlySet<string> = new Set([
  'files/recursive-delete',
  'files/delete-workspace',
  'files/mirror-delete',
  'files/shred',
  'git/discard',
]);

/** In a disposable sandbox with files of the host only these count, and the deny list. */
function countsInside({ rule, paths }: Found, { hostPaths }: JudgeContext): boolean {
  if (rules[rule].answer === 'deny') return true;
  if (!deletions.has(rule)) return false;
  return paths.some((path) => hostPaths.some((host) => mayTouch(path, host)));
}
