import { commandRules } from './command-rules.ts';
import { databaseRules } from './database-rules.ts';
import { fileRules } from './file-rules.ts';
import { gitRules } from './git-rules.ts';
import { hermeticRules, ownFileRules } from './hermetic-rules.ts';
import type { Invocation } from './invocation.ts';
import { networkRules } from './network-rules.ts';
import { readOptions } from './options.ts';
import { pathRules } from './path-rules.ts';
import { processRules } from './process-rules.ts';
import { sedRules } from './sed-rules.ts';
import type { State } from './state.ts';
import { isUnknown } from './values.ts';

/** Reports everything that is to be said about one program and its arguments. */
export function applyRules(program: string, args: readonly string[], state: State, stdin: readonly string[]): void {
  const [only] = args;
  if (args.length === 1 && only !== undefined && /^--(?:help|version)$/.test(only)) return;
  const invocation: Invocation = { program, args, state, stdin };
  applyCommandRules(invocation);
  if (Object.hasOwn(fileRules, program)) fileRules[program]?.(invocation);
  if (Object.hasOwn(networkRules, program)) networkRules[program]?.(invocation);
  if (program === 'git') gitRules(invocation);
  if (program === 'sed' || program === 'gsed') sedRules(invocation);
  databaseRules(invocation);
  processRules(invocation);
  pathRules(invocation);
  hermeticRules(invocation);
  ownFileRules(invocation);
}

function applyCommandRules({ program, args, state }: Invocation): void {
  const candidates = commandRules.filter((rule) => rule.program.test(program));
  if (candidates.length === 0) return;
  const { rest } = readOptions(args);
  const text = args.join(' ');
  for (const { rule, words, within = 1, any, text: wanted, unless } of candidates) {
    if (words && !rest.slice(0, within).some((word) => words.test(word))) {
      if (isUnknown(rest[0] ?? '')) state.judgement.report('shell/unresolved-argument', program);
      continue;
    }
    if (any && !args.some((arg) => any.test(arg))) continue;
    if (wanted && !wanted.test(text)) continue;
    if (unless?.test(text)) continue;
    state.judgement.report(rule, program);
  }
}
