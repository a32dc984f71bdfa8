import type { State } from '../shell/state.ts';
import { isUnknown, isUnseen } from '../shell/values.ts';
import {
  holdsOwn,
  isCredential,
  isDoubtfulCredential,
  isOwn,
  isProtectedRoot,
  isRawDisk,
  isSystemPath,
  normalised,
  startupRule,
} from './paths.ts';
import { resolvePaths } from './resolve.ts';

/** Reports what it means that a program writes, changes or removes the file at a path. */
export function touchWrite(text: string, program: string | undefined, state: State): void {
  for (const path of resolvePaths(text, state)) {
    if (isUnsure(text, path, state)) state.judgement.report('shell/unresolved-argument', program, [undefined]);
    if (path === undefined) continue;
    const report = (rule: Parameters<State['judgement']['report']>[0]): void => state.judgement.report(rule, program, [path]);
    if (isOwn(path, state)) report('hermetic/files');
    if (isRawDisk(path)) report('disk/raw-write');
    if (path === '/proc/sysrq-trigger') report('system/shutdown');
    if (path.startsWith('/dev/tcp/') || path.startsWith('/dev/udp/')) report('network/remote-shell');
    const startup = startupRule(path);
    if (startup) report(startup);
    else if (isCredential(path, state)) report('credentials/write');
    if (/\/\.?(?:bash|zsh|python|mysql|psql|node_repl|sh)_?history$|^\/var\/log\//.test(path)) report('system/erase-traces');
    else if (isSystemPath(path, state) && !isRawDisk(path)) report('files/system-write');
  }
}

/** Whether nobody knows where it is. Security: beside Hermetic's own files, a part that nobody knows may lead to them. */
function isUnsure(text: string, path: string | undefined, state: State): boolean {
  if (state.circumstances.ownPaths.length === 0) return path === undefined && isUnseen(text);
  if (path !== undefined) return isUnseen(text + path);
  return isUnknown(text) ? isUnseen(text) : state.workingDirectories.some(isUnseen);
}

/** Reports what it means that a program sees what is in the file at a path. `shows`: it prints or copies what it reads. */
export function touchRead(text: string, program: string | undefined, state: State, shows: boolean): void {
  for (const path of resolvePaths(text, state)) {
    if (path === undefined) continue;
    if (isOwn(path, state)) state.judgement.report('hermetic/read', program, [path]);
    if (path.startsWith('/dev/tcp/') || path.startsWith('/dev/udp/')) state.judgement.report('network/remote-shell', program, [path]);
    if (isCredential(path, state) || (shows && isDoubtfulCredential(path))) state.judgement.report('credentials/read', program, [path]);
  }
}

/** Reports what it means that everything at a path goes: deleted, moved away or made unusable. */
export function touchTree(text: string, program: string | undefined, state: State): void {
  for (const path of resolvePaths(text, state)) {
    if (path === undefined) continue;
    if (isProtectedRoot(path, state)) state.judgement.report('files/delete-system', program, [path]);
    if (holdsOwn(path, state)) state.judgement.report('hermetic/files', program, [path]);
    if (isRawDisk(path)) state.judgement.report('disk/raw-write', program, [path]);
  }
  touchWrite(text, program, state);
}

/** Reports what it means that a program sees what is in everything below a path. */
export function touchTreeRead(text: string, program: string | undefined, state: State): void {
  const home = normalised(state.circumstances.home || '/root');
  for (const path of resolvePaths(text, state)) {
    if (path === home || path === '/' || path === '/home' || path === '/root' || path === '/etc')
      state.judgement.report('credentials/read', program, [path]);
  }
}
