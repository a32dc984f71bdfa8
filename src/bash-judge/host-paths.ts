import { globExpression, isPattern, matchesParent } from './glob.ts';
import { normalised } from './paths.ts';
import { isUnknown } from './values.ts';

/** Whether what a path names, perhaps by a pattern, may lie in a directory or hold it. When in doubt, yes. */
export function mayTouch(path: string | undefined, directory: string): boolean {
  // An unknown part may be `..` as well.
  if (path === undefined || isUnknown(path)) return true;
  const names = namesOf(path);
  if (names.some(matchesParent)) return true;
  for (const [at, name] of namesOf(directory).entries()) {
    const named = names[at];
    if (named === undefined || named.includes('**')) return true;
    if (!mayMean(named, name)) return false;
  }
  return true;
}

function namesOf(path: string): readonly string[] {
  return normalised(path)
    .split('/')
    .filter((name) => name !== '');
}

function mayMean(named: string, name: string): boolean {
  if (named === name) return true;
  if (!isPattern(named) && !named.includes('(')) return false;
  // How bash expands it depends on options: extglob, dotglob, nocaseglob.
  if (/\(|\[[!^]?\[[:.=]/.test(named)) return true;
  return globExpression(named.toLowerCase(), true)?.test(name.toLowerCase()) ?? true;
}
