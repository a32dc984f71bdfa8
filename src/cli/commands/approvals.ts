import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import * as z from 'zod';
import type { App } from '../../app/app.ts';
import { judgeContextOf } from '../../app/judge-context.ts';
import { JudgeThread } from '../../bash-judge/index.ts';
import type { Verdict } from '../../core/approval.ts';
import { HermeticError } from '../../core/errors.ts';
import { quiet } from '../../core/sandbox.ts';
import { hermetic } from '../../lib/own-command.ts';
import { visible } from '../../lib/visible.ts';
import { cliSession } from '../../sandboxes/request.ts';
import { configuredSpec } from '../../sandboxes/spec.ts';
import { type CliIo, commandOn } from '../io.ts';
import { appOf } from '../session-options.ts';
import { addGrantCommands } from './approvals-grants.ts';
import { addQuestionCommands } from './approvals-questions.ts';

interface JudgeOptions {
  backend: string;
  json?: boolean;
  stdin?: boolean;
}

const requestSchema = z.strictObject({ id: z.union([z.string(), z.number()]), command: z.string() });

const judgeHelp = `
Nothing runs. The exit code is 0 for every verdict.

With --stdin, every line is an object {"id", "command"}, and every line printed is {"id", "verdict", "findings"}.`;

export function approvalsCommand(io: CliIo): Command {
  const approvals = commandOn(io, 'approvals').description('questions and grants: actions that need approval before they run');

  approvals
    .command('judge [command...]')
    .description('print the verdict on a command (allow, ask or deny) without running it')
    .option('--backend <name>', 'the backend it would run on', 'local')
    .option('--json', 'print an object')
    .option('--stdin', 'judge every line of standard input')
    .addHelpText('after', judgeHelp)
    .action(async (words: readonly string[], { backend, json, stdin }: JudgeOptions) => {
      if ((words.length === 0) !== (stdin === true)) {
        throw new HermeticError('usage/bad-argument', 'Give either a command or --stdin.', {
          hint: `${hermetic} approvals judge 'rm -rf build'`,
        });
      }
      const judge = judgeFor(appOf(io), backend);
      if (stdin) await judgeLines(io, judge);
      else {
        const verdict = await judge(words.join(' '));
        io.stdout.write(json ? `${JSON.stringify(plain(verdict))}\n` : prose(verdict));
      }
    });

  addQuestionCommands(approvals, io);
  addGrantCommands(approvals, io);
  return approvals;
}

/** Judges as the guard does in a session that has just begun on this backend. */
function judgeFor(app: App, name: string): (command: string) => Promise<Verdict> {
  const [backend] = app.candidates(name);
  if (!backend) throw new HermeticError('backend/unknown', `No backend is called ${name}.`);
  const spec = configuredSpec(app.deps, { ...cliSession('default'), backend: name }, backend, quiet);
  const place = { backend, spec, sandbox: { definitions: {}, brought: [] } };
  const { workdir } = backend.places(spec);
  const judge = new JudgeThread({ programs: () => app.loaded.config.approvals.programs });
  return (command) => {
    const action = { kind: 'command', command, cwd: workdir } as const;
    return judge.judge(action, judgeContextOf([action], place, { source: 'cli', role: 'admin' }, app.loaded));
  };
}

async function judgeLines(io: CliIo, judge: (command: string) => Promise<Verdict>): Promise<void> {
  let number = 0;
  for await (const line of createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() === '') continue;
    const { id, command } = requestIn(line, number);
    io.stdout.write(`${JSON.stringify({ id, ...plain(await judge(command)) })}\n`);
  }
}

function requestIn(line: string, number: number): z.infer<typeof requestSchema> {
  const hint = 'Every line is an object such as {"id": 1, "command": "ls"}.';
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new HermeticError('usage/bad-argument', `Line ${number} of standard input is not JSON.`, { hint, cause });
  }
  const parsed = requestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue && issue.path.length > 0 ? ` (${issue.path.join('.')}: ${issue.message})` : '';
  throw new HermeticError('usage/bad-argument', `Line ${number} of standard input is not a command to judge${where}.`, { hint });
}

function plain(verdict: Verdict) {
  const found = verdict.kind === 'allow' ? [] : verdict.findings;
  const byRule = new Map(found.map(({ rule, title, why }) => [rule, { rule, title, why }]));
  return { verdict: verdict.kind, findings: [...byRule.values()] };
}

const answers = { allow: 'allow: it runs without a question', ask: 'ask: a person decides', deny: 'deny: it cannot be approved' };

function prose(verdict: Verdict): string {
  const findings = verdict.kind === 'allow' ? [] : verdict.findings;
  const lines = findings.map(({ rule, title, why, program, target }) => {
    const about = [program, target].filter((text) => text !== undefined).map((text) => visible(text).replaceAll('\n', '⟨U+000A⟩'));
    return `  ${title}${about.length > 0 ? ` (${about.join(': ')})` : ''}: ${why} [${rule}]`;
  });
  return `${[answers[verdict.kind], ...lines].join('\n')}\n`;
}
