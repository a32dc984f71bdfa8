import type { Action, Circumstances, Finding, Policy, Verdict } from '../core/approval.ts';
import { hasInvisible } from '../lib/visible.ts';
import { mayTouch } from './checks/host-paths.ts';
import { touchRead, touchTreeRead, touchWrite } from './checks/touch.ts';
import { judgeCode } from './programs/code.ts';
import { runFields } from './programs/invoke.ts';
import { rules } from './rules.ts';
import { mostCharacters } from './shell/parse-command.ts';
import { type Found, Judgement, State, TooComplex } from './shell/state.ts';
import { runScript, runSource } from './shell/walk.ts';

/** The rules of `docs/approval-rules.md`, applied to what an action would do. */
export const policy: Policy = {
  // Where nothing could count, as `countsInside` says, nothing is looked for: that takes longer than most commands.
  judge: (action, circumstances) =>
    circumstances.disposable && circumstances.hostPaths.length === 0
      ? { kind: 'allow' }
      : verdict(findingsOf(action, circumstances), circumstances),
};

function findingsOf(action: Action, circumstances: Circumstances): readonly Found[] {
  return foundBy(circumstances, (judgement) => look(action, judgement));
}

function foundBy(circumstances: Circumstances, lookAt: (judgement: Judgement) => void): readonly Found[] {
  const judgement = new Judgement(circumstances);
  judgement.runScript = runScript;
  judgement.runSource = runSource;
  judgement.runFields = runFields;
  try {
    lookAt(judgement);
  } catch (error) {
    // Security: what cannot be judged to its end is not harmless, whatever stopped it.
    judgement.report(error instanceof TooComplex || error instanceof RangeError ? 'shell/too-complex' : 'shell/unparseable');
  }
  if (judgement.namesHermetic && judgement.endsProcesses) judgement.report('hermetic/process', 'kill');
  return [...judgement.found.values()];
}

function look(action: Action, judgement: Judgement): void {
  const { circumstances } = judgement;
  if (action.kind === 'command') lookAtSource(action.command, new State(judgement, action.cwd));
  else if (action.kind === 'input') lookAtInput(action, judgement);
  else if (action.kind === 'write') touchWrite(action.path, action.kind, new State(judgement, action.cwd));
  else if (action.kind !== 'script') {
    touchRead(action.path, action.kind, new State(judgement, action.cwd), true);
    // A directory is searched with all that is below it.
    touchTreeRead(action.path, action.kind, new State(judgement, action.cwd));
  } else {
    if (!circumstances.disposable) judgement.report('script/run', action.language);
    const state = new State(judgement, action.cwd);
    if (action.code.length > mostCharacters) judgement.report('shell/too-complex');
    else if (action.language === 'bash') lookAtSource(action.code, state);
    else judgeCode(action.language, action.code, action.language, state);
  }
}

/** As what a shell reads, and as what this process makes of it. */
function lookAtInput({ process, text, cwd, before }: Extract<Action, { kind: 'input' }>, judgement: Judgement): void {
  const { circumstances } = judgement;
  const place = cwd ?? (circumstances.home || '/');
  // Whoever types to a program also presses keys that are no text.
  runSource(text, new State(judgement, place), ['']);
  const given = (source: string, stdin: string): readonly Found[] =>
    foundBy(circumstances, (one) => void runSource(source, new State(one, place), [stdin]));
  // The process itself was judged when it was started.
  const known = new Set(given(process, '').map(keyOf));
  // Security: what nobody may do can be put together from pieces that anybody may, such as a directory and then a file in it.
  const whole = before === undefined ? [] : given(before + text, '').filter(({ rule }) => rules[rule].hard);
  for (const { rule, program, paths } of [...given(process, text).filter((one) => !known.has(keyOf(one))), ...whole]) {
    judgement.report(rule, program, paths);
  }
}

function keyOf({ rule, program }: Found): string {
  return `${rule} ${program ?? ''}`;
}

function lookAtSource(text: string, state: State): void {
  if (hasInvisible(text)) state.judgement.report('shell/hidden-characters');
  runSource(text, state, ['']);
}

function verdict(found: readonly Found[], circumstances: Circumstances): Verdict {
  const counted = circumstances.disposable ? found.filter((one) => countsInside(one, circumstances)) : found;
  if (counted.length === 0) return { kind: 'allow' };
  const findings: Finding[] = counted.map(({ rule, program }) => ({ rule, title: rules[rule].title, why: rules[rule].why, program }));
  return { kind: counted.some(({ rule }) => rules[rule].hard) ? 'deny' : 'ask', findings };
}

/** In a disposable sandbox only the files of the host count, where they can be written. */
function countsInside({ rule, paths }: Found, { hostPaths }: Circumstances): boolean {
  if (hostPaths.length === 0) return false;
  const { reach } = rules[rule];
  if (reach !== 'paths') return reach === 'anything';
  return paths.some((path) => hostPaths.some((host) => mayTouch(path, host)));
}
