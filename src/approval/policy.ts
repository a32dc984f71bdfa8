import type { Action, Circumstances, Finding, Policy, Verdict } from '../core/approval.ts';
import { judgeCode } from './code.ts';
import { runFields } from './invoke.ts';
import { mostCharacters } from './parse-command.ts';
import { isInside, normalised } from './paths.ts';
import { rules } from './rules.ts';
import { type Found, Judgement, State, TooComplex } from './state.ts';
import { touchRead, touchWrite } from './touch.ts';
import { runScript, runSource } from './walk.ts';

/** The rules of `docs/approval-rules.md`, applied to what an action would do. */
export const policy: Policy = {
  judge: (action, circumstances) => verdict(findingsOf(action, circumstances), circumstances),
};

function findingsOf(action: Action, circumstances: Circumstances): readonly Found[] {
  const judgement = new Judgement(circumstances);
  judgement.runScript = runScript;
  judgement.runSource = runSource;
  judgement.runFields = runFields;
  try {
    look(action, judgement);
  } catch (error) {
    // Security: what cannot be judged to its end is not harmless, whatever stopped it.
    judgement.report(error instanceof TooComplex || error instanceof RangeError ? 'shell/too-complex' : 'shell/unparseable');
  }
  if (judgement.namesHermetic && judgement.endsProcesses) judgement.report('hermetic/process', 'kill');
  return [...judgement.found.values()];
}

function look(action: Action, judgement: Judgement): void {
  const { circumstances } = judgement;
  switch (action.kind) {
    case 'command':
      return source(action.command, new State(judgement, action.cwd));
    case 'input':
      return source(action.text, new State(judgement, circumstances.home || '/'));
    case 'script': {
      const state = new State(judgement, action.cwd);
      if (!circumstances.disposable) judgement.report('script/run', action.language);
      if (action.code.length > mostCharacters) return judgement.report('shell/too-complex');
      if (action.language === 'bash') return source(action.code, state);
      return judgeCode(action.language, action.code, action.language, state);
    }
    case 'read':
    case 'send': {
      const state = new State(judgement, action.cwd);
      touchRead(action.path, action.kind, state, true);
      return;
    }
    case 'write':
      return touchWrite(action.path, action.kind, new State(judgement, action.cwd));
  }
}

/** Characters that move the cursor, colour, or turn the direction of writing. */
const hidden = /[\u001b\u0008\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

function source(text: string, state: State): void {
  if (hidden.test(text)) state.judgement.report('shell/hidden-characters');
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
  return paths.some(
    (path) => path === undefined || hostPaths.some((host) => isInside(path, normalised(host)) || isInside(normalised(host), path)),
  );
}
