import type { GrantLedger, ModeLedger } from '../core/store.ts';
import type { Questions } from './questions.ts';

export interface SessionApprovals {
  questions: Questions;
  grants: GrantLedger;
  modes: ModeLedger;
}

/** Everything that was good for this session only is over: open questions, grants for the session, and yolo. */
export async function endSession({ questions, grants, modes }: SessionApprovals, parts: readonly string[], by: string): Promise<void> {
  const at = new Date();
  await questions.withdraw(parts, 'the session ended');
  const what = { scope: 'session' };
  await grants.endSession(parts, at, [{ at, actor: by, session: parts, kind: 'grant', what, outcome: 'revoked' }]);
  if ((await modes.yolo(parts)).length > 0) await setYolo(modes, parts, by, false);
}

/** In this session this person is not asked any more, or everybody is again. The hard list stays. */
export async function setYolo(modes: ModeLedger, parts: readonly string[], by: string, on: boolean): Promise<void> {
  const at = new Date();
  const outcome = on ? 'on' : 'off';
  await modes.setYolo(parts, on ? { by, since: at } : undefined, [
    { at, actor: by, session: parts, kind: 'mode', what: { mode: 'yolo' }, outcome },
  ]);
}
