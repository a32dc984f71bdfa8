import { posix } from 'node:path';
import { judge } from '../../src/bash-judge/index.ts';
import type { Brought, JudgedAction, Verdict } from '../../src/core/approval.ts';
import { broughtIn, withBrought } from '../../src/shell/brought-paths.ts';
import type { Changes } from '../../src/shell/state.ts';
import { cwd, local } from './corpus.ts';

export interface Step {
  command: string;
  verdict: Verdict;
}

/** A path behind `✎` is edited by a tool, and one behind `✚` is written anew. */
const ofTool = /^([✎✚]) (.*)$/;

/** Judges the commands of a session one after the other, as if every question were answered with a yes. */
export function judgeConversation(commands: readonly string[]): readonly Step[] {
  let kept: Changes = new Map();
  let directory = cwd;
  return commands.map((command): Step => {
    const [, sign, path] = ofTool.exec(command) ?? [];
    const action: JudgedAction =
      path === undefined ? { kind: 'command', command, cwd: directory } : { kind: sign === '✎' ? 'edit' : 'write', path, cwd: directory };
    const brought: readonly Brought[] = broughtIn(kept);
    const verdict = judge(action, { ...local, brought });
    const brings = verdict.kind === 'deny' ? [] : (verdict.brings ?? []);
    if (path === undefined || brings.length > 0) kept = withBrought(kept, brings);
    if (path === undefined) directory = directoryAfter(command, directory);
    return { command, verdict };
  });
}

/** Where a session is after a command that says `cd` outside of parentheses. */
function directoryAfter(command: string, before: string): string {
  const outside = command.replace(/\([^)]*\)/g, '');
  const places = [...outside.matchAll(/(?:^|[;\n]|&&)\s*cd ([\w./-]+)/g)].map(([, place = '']) => place);
  return posix.resolve(before, ...places);
}
