import type { Command } from 'commander';
import { questionStatus, questionText } from '../../approval/question-text.ts';
import type { Attempt } from '../../approval/questions.ts';
import type { Answer } from '../../core/approval.ts';
import { HermeticError } from '../../core/errors.ts';
import type { QuestionEntry } from '../../core/store.ts';
import { hermetic } from '../../lib/own-command.ts';
import { visible } from '../../lib/visible.ts';
import { durationOption } from '../duration-option.ts';
import type { CliIo } from '../io.ts';
import { jsonText } from '../json.ts';
import { personHere } from '../person.ts';
import { table } from '../table.ts';
import { withApp } from '../with-app.ts';

interface ApproveOptions {
  session?: boolean;
  always?: boolean;
  expires?: number;
  remark?: string;
}

/** Adds the commands that answer questions from any shell: `list`, `show`, `approve` and `deny`. */
export function addQuestionCommands(approvals: Command, io: CliIo): void {
  approvals
    .command('list')
    .description('lists pending questions')
    .option('--all', 'include settled questions')
    .option('--json', 'print an array')
    .action(async ({ all, json }: { all?: boolean; json?: boolean }) => {
      const found = await withApp(io, async (app) => {
        const open = await (await app.approvals.questions()).open();
        return all ? await (await app.store()).approvals.list() : open;
      });
      if (json) io.stdout.write(jsonText(found.map(plain)));
      else if (found.length === 0) io.stdout.write('No question is pending.\n');
      else io.stdout.write(table([['CODE', 'SESSION', 'BACKEND', 'STATE', 'ASKED', 'WHAT'], ...found.map(row)]));
    });

  approvals
    .command('show <question>')
    .description('show the whole question')
    .option('--json', 'print an object')
    .action(async (name: string, { json }: { json?: boolean }) => {
      const question = await withApp(io, async (app) => await (await app.store()).approvals.find(name));
      if (!question) throw notFound(name);
      io.stdout.write(json ? jsonText(plain(question)) : `${questionText(question)}${questionStatus(question)}\n`);
    });

  approvals
    .command('approve <question>')
    .description('approve the action once')
    .option('--session', 'also the next time in this session: same findings and programs, or the same script')
    .option('--always', 'also the next time for the same person, in every session')
    .option('--expires <time>', 'how long --always lasts: 12h, 30d', durationOption)
    .option('--remark <text>', 'stored with the grant')
    .action(async (name: string, options: ApproveOptions) => await settle(io, name, yes(options)));

  approvals
    .command('deny <question>')
    .description('deny the action')
    .option('--remark <text>', 'for the agent to read')
    .action(async (name: string, { remark }: { remark?: string }) => await settle(io, name, { kind: 'deny', by: personHere(), remark }));
}

function yes({ session, always, expires, remark }: ApproveOptions): Answer {
  if (session && always) throw new HermeticError('usage/bad-argument', '--session and --always exclude each other.');
  if (expires !== undefined && !always) throw new HermeticError('usage/bad-argument', '--expires is for --always.');
  const by = personHere();
  if (always) return { kind: 'always', by, remark, expiresAt: expires === undefined ? undefined : new Date(Date.now() + expires) };
  return { kind: session ? 'session' : 'once', by, remark };
}

async function settle(io: CliIo, name: string, answer: Answer): Promise<void> {
  const attempt = await withApp(io, async (app) => {
    const questions = await app.approvals.questions();
    return await questions.answer(name, answer, { by: answer.by, from: 'shell', role: 'admin', person: undefined });
  });
  io.stdout.write(told(name, attempt));
}

function told(name: string, attempt: Attempt): string {
  if (attempt.kind === 'unknown') throw notFound(name);
  const { question } = attempt;
  if (attempt.kind === 'settled') return `${question.code}: ${questionStatus(question)}\n`;
  throw new HermeticError('approval/settled', `Nothing was changed. ${question.code}: ${questionStatus(question)}`);
}

function notFound(name: string): HermeticError {
  return new HermeticError('approval/not-found', `There is no question ${visible(name)}.`, { hint: `${hermetic} approvals list --all` });
}

function row(question: QuestionEntry): string[] {
  const titles = [...new Set(question.findings.map(({ title }) => title))].join('; ');
  const asked = question.askedAt.toISOString().slice(0, 16).replace('T', ' ');
  return [question.code, short(question.session), question.backend, question.state, asked, titles];
}

function short(text: string): string {
  return visible(text).replaceAll(/\s+/g, ' ').slice(0, 40);
}

function plain({ parts, ...question }: QuestionEntry) {
  return { ...question, sessionParts: parts };
}
