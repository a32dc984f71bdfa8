import { matchesParent } from '../shell/glob.ts';
import type { State } from '../shell/state.ts';
import { isUnknown, knownStart } from '../shell/values.ts';
import { isOfSession, normalised } from './paths.ts';

/** No file has a longer name. */
export const longestPath = 4_200;

/** The absolute paths a text may mean; undefined for one nobody knows. */
export function resolvePaths(text: string, state: State): readonly (string | undefined)[] {
  // Long texts take the patterns below too long.
  if (text.length > longestPath) return [undefined];
  const path = text.startsWith('~') ? homeOf(text, state) : text;
  if (path === '' || isUnknown(path.slice(0, 1))) return [undefined];
  const directories = state.workingDirectories.filter((directory) => directory.startsWith('/'));
  if (!path.startsWith('/')) {
    const known = directories.flatMap((directory) => meanings(`${directory}/${path}`, state));
    return directories.length < state.workingDirectories.length ? [...known, undefined] : known;
  }
  const elsewhere = /\/proc\/.*cwd/.test(path) ? directories.map((directory) => normalised(path, directory)) : [];
  return [...meanings(path, state), ...elsewhere];
}

function homeOf(text: string, state: State): string {
  const [, name = '', rest = ''] = /^~([^/]*)(.*)$/s.exec(text) ?? [];
  if (name === '') return `${state.variables.get('HOME')?.[0] ?? state.circumstances.home}${rest}`;
  return name === 'root' ? `/root${rest}` : `/home/${name}${rest}`;
}

/** Security: a session may work below Hermetic's own files, and what nobody knows may lead out of its directory again. */
function meanings(path: string, state: State): readonly (string | undefined)[] {
  if (!state.circumstances.sessionPaths?.length) return [normalised(path)];
  return climbs(path, state).map((one) =>
    isUnknown(one) && isOfSession(normalised(knownStart(one)), state) ? undefined : normalised(one),
  );
}

/** The path itself, and what it is when patterns in it that match `..` do lead up and out of the session's directory. */
function climbs(path: string, state: State): readonly string[] {
  const paths = [path];
  const segments = path.split('/');
  for (const [index, segment] of segments.entries()) {
    if (!matchesParent(segment) || !isOfSession(normalised(segments.slice(0, index).join('/')), state)) continue;
    state.judgement.step(segments.length / 10);
    segments[index] = '..';
    paths.push(segments.join('/'));
  }
  return paths;
}
