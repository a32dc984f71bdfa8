import { type Found, Judgement, State } from '../shell/state.ts';

/** What would be found if this were judged, without reporting any of it. */
export function foundApart(state: State, judge: (state: State) => void): readonly Found[] {
  const inner = new Judgement(state.circumstances);
  inner.runScript = state.judgement.runScript;
  inner.runSource = state.judgement.runSource;
  inner.runFields = state.judgement.runFields;
  state.judgement.step(50);
  state.judgement.deeper(() => judge(new State(inner, state.workingDirectories[0] ?? '/')));
  return [...inner.found.values()];
}
