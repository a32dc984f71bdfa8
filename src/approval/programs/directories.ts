import { isOwn } from '../checks/paths.ts';
import { longestPath, resolvePaths } from '../checks/resolve.ts';
import { type State, unionOf } from '../shell/state.ts';
import { parameter, unknown } from '../shell/values.ts';

type Texts = readonly string[];

export function changeDirectory(args: Texts, state: State): Texts {
  const [target = state.variables.get('HOME')?.[0] ?? unknown] = args.filter((arg) => !/^-[LPe@]+$|^--$/.test(arg));
  go(target === '-' ? (state.variables.get('OLDPWD') ?? [unknown]) : placesOf(target, state), state);
  return [''];
}

/** Which of the directories on the stack it is about is not followed: it may be any. */
export function pushDirectory(args: Texts, state: State): Texts {
  const stack = stackOf(state);
  const [target] = args.filter((arg) => arg !== '-n' && arg !== '--');
  const places = target === undefined || /^[+-]\d+$/.test(target) ? stack : placesOf(target, state);
  const known = state.variables.get('DIRSTACK') ?? [];
  state.variables.set('DIRSTACK', unionOf([known, args.includes('-n') ? places : state.workingDirectories]));
  if (!args.includes('-n')) go(places, state);
  return [''];
}

export function popDirectory(_args: Texts, state: State): Texts {
  const stack = stackOf(state);
  go(stack, state);
  // What an earlier command left on it is not known.
  state.variables.set('DIRSTACK', unionOf([stack, [unknown]]));
  return [''];
}

function stackOf(state: State): Texts {
  return state.variables.get('DIRSTACK') ?? [unknown];
}

function placesOf(target: string, state: State): Texts {
  const lists = /^(?:[/~]|\.\.?(?:\/|$))/.test(target) ? [] : (state.variables.get('CDPATH') ?? []);
  const texts = [target, ...lists.flatMap((list) => list.split(':')).map((base) => `${base || '.'}/${target}`)];
  const nobodyKnows = target.includes(parameter) ? parameter : unknown;
  const paths = texts.flatMap((text) => resolvePaths(text, state));
  return paths.map((path) => (path === undefined || path.length > longestPath ? nobodyKnows : path));
}

function go(places: Texts, state: State): void {
  state.judgement.step(places.length);
  const before = state.workingDirectories;
  // Security: from Hermetic's own files it may seem to lead to the session's, and fail. What `cd -` then means is what it meant before.
  state.ifFailed = new Map([
    ['PWD', before.filter((directory) => isOwn(directory, state))],
    ['OLDPWD', state.variables.get('OLDPWD') ?? [unknown]],
  ]);
  state.variables.set('OLDPWD', before);
  state.variables.set('PWD', unionOf([places]));
}
