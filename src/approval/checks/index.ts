import { readOptions } from '../shell/options.ts';
import type { State } from '../shell/state.ts';
import { isUnknown } from '../shell/values.ts';
import { accountCommands } from './account-commands.ts';
import type { CommandRule } from './command-rule.ts';
import { databaseRules } from './databases.ts';
import { pathRules } from './file-arguments.ts';
import { fileRules } from './files.ts';
import { gitRules } from './git.ts';
import { hermeticRules, ownFileRules } from './hermetic.ts';
import { infrastructureCommands } from './infrastructure-commands.ts';
import type { Invocation } from './invocation.ts';
import { machineCommands } from './machine-commands.ts';
import { networkRules } from './network.ts';
import { networkCommands } from './network-commands.ts';
import { processRules } from './processes.ts';
import { secretCommands } from './secret-commands.ts';
import { sedRules } from './sed.ts';

/** Rules that words alone decide. Rules about paths and code are next to what they look at. */
const commandRules = [...machineCommands, ...accountCommands, ...infrastructureCommands, ...networkCommands, ...secretCommands];

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

const remembered = new Map<string, readonly CommandRule[]>();

/** Most commands are about few programs, and there are many rules to try. */
function rulesFor(program: string): readonly CommandRule[] {
  const known = remembered.get(program);
  if (known) return known;
  const found = commandRules.filter((rule) => rule.program.test(program));
  if (remembered.size >= 1_000) remembered.clear();
  remembered.set(program, found);
  return found;
}

function applyCommandRules({ program, args, state }: Invocation): void {
  const candidates = rulesFor(program);
  if (candidates.length === 0) return;
  const { rest } = readOptions(args);
  // Security: long arguments would make some expressions take very long. What a rule looks for is in none of them.
  const text = args.map((arg) => (arg.length > 300 ? arg.slice(0, 300) : arg)).join(' ');
  const long = text.length > 2_000;
  if (long && candidates.some((rule) => rule.text)) state.judgement.report('shell/too-complex', program);
  for (const { rule, words, within = 1, any, text: wanted, unless } of candidates) {
    if (words && !rest.slice(0, within).some((word) => words.test(word))) {
      if (isUnknown(rest[0] ?? '')) state.judgement.report('shell/unresolved-argument', program);
      continue;
    }
    if (any && !args.some((arg) => any.test(arg))) continue;
    if (wanted && (long || !wanted.test(text))) continue;
    if (!long && unless?.test(text)) continue;
    state.judgement.report(rule, program);
  }
}
