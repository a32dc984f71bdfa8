import { posix } from 'node:path';
import * as z from 'zod';
import type { Action } from '../core/approval.ts';
import { HermeticError } from '../core/errors.ts';
import { type ExecRequest, type LimitHit, limitHitSentences } from '../core/sandbox.ts';
import type { CallOutcome, Tool, ToolContext } from '../core/tool.ts';
import { remember } from '../lib/remember.ts';
import { type RunEnd, run } from '../shell/run.ts';
import { defineTool } from './define-tool.ts';
import { exitNote, isAnswer } from './exit-notes.ts';
import { pathSchema } from './files/file-path.ts';
import { OutputCapture } from './output-capture.ts';
import type { ProcessTable } from './process/process-table.ts';
import { withRemarks } from './remarks.ts';

export interface TerminalOptions {
  timeoutSeconds: number;
  maxTimeoutSeconds: number;
  processes: ProcessTable;
}

/** Wide enough that tables are not folded. */
const terminalSize = { columns: 120, rows: 40 };

const output = z.object({
  output: z.string().describe('What it printed on standard output and standard error, in the order of arrival, as clean text.'),
  exit_code: z.number().nullable().describe('null when it did not end by itself.'),
  ended: z
    .enum(['exited', 'signaled', 'timeout', 'interrupted', 'lost', 'background'])
    .describe('`background`: it goes on running; see `process_id`.'),
  note: z.string().optional().describe('What the way it ended means.'),
  network: z
    .string()
    .optional()
    .describe('Where the network is restricted: which connections failed while it ran, and why, and which ones a person allowed.'),
  cwd: z.string().describe("The session's directory afterwards."),
  duration_ms: z.number(),
  truncated: z.boolean().describe('Whether the middle of the output was left out.'),
  output_file: z.string().optional().describe('A file in the sandbox that has all of the output, when it was too long.'),
  process_id: z.string().optional().describe('For the tool `process`.'),
});

const hasNoNul = (text: string): boolean => !text.includes('\0');

type TerminalResult = z.output<typeof output>;

const inputFor = remember((timeoutSeconds: number, maxTimeoutSeconds: number) =>
  z.strictObject({
    // Security: before anybody is asked about what no shell could be told.
    command: z.string().min(1).refine(hasNoNul, 'a command cannot contain a NUL character').describe('Bash source.'),
    cwd: pathSchema.optional().describe("Where to run it, for this command only; the session's directory otherwise."),
    timeout: z
      .number()
      .positive()
      .max(maxTimeoutSeconds, `at most ${maxTimeoutSeconds} seconds; use background for what takes longer`)
      .optional()
      .describe(`Seconds after which it is ended (default ${timeoutSeconds}). Not for background.`),
    background: z
      .boolean()
      .optional()
      .describe('Start it and return at once: for servers, watchers and long jobs. You are told when it ends. See the tool `process`.'),
    pty: z.boolean().optional().describe('Run it on a terminal, for programs that want one.'),
    stdin: z.string().optional().describe('What it reads from standard input, which then ends. Without it there is nothing to read.'),
    notify_on: z
      .array(z.string().min(1).max(1000))
      .max(10)
      .optional()
      .describe('For background: texts; you are told when one of them is printed, less often when it repeats quickly.'),
  }),
);

/** Runs commands. */
export function terminal({ timeoutSeconds, maxTimeoutSeconds, processes }: TerminalOptions): Tool {
  return defineTool({
    name: 'terminal',
    title: 'Run a command',
    description:
      "Runs a bash command in this session's sandbox. Directory, exported variables, functions and aliases carry over to the next command. " +
      'Output is clean text; when it is too long the middle is left out and a file in the sandbox has all of it. ' +
      'Use background for what does not end by itself.',
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    forScripts: true,
    input: inputFor(timeoutSeconds, maxTimeoutSeconds),
    output,
    prepare: (call, session) => {
      if (call.background && call.timeout !== undefined) {
        throw new HermeticError('tool/bad-input', 'timeout is not for background commands: they run until they end or are killed.');
      }
      if (!call.background && call.notify_on) throw new HermeticError('tool/bad-input', 'notify_on is only for background commands.');
      // Security: it runs in the directory that was judged, also when the session changes its own meanwhile.
      const cwd = posix.resolve(session.cwd, call.cwd ?? '');
      const actions: Action[] = [{ kind: 'command', command: call.command, cwd }];
      // Security: what a shell reads is run like what it is given.
      if (call.stdin !== undefined) actions.push({ kind: 'input', process: call.command, text: call.stdin, cwd });
      const seconds = call.timeout ?? Math.min(timeoutSeconds, maxTimeoutSeconds);
      return {
        actions,
        run: (context) => {
          const placed = { ...call, cwd: call.cwd && cwd };
          return call.background ? startInBackground(processes, context, placed) : runToEnd(context, placed, seconds);
        },
        outcome: (result) => outcomeOf(call.command, result),
      };
    },
    render,
  });
}

interface TerminalCall {
  command: string;
  cwd?: string | undefined;
  pty?: boolean | undefined;
  stdin?: string | undefined;
  notify_on?: string[] | undefined;
}

async function startInBackground(processes: ProcessTable, context: ToolContext, call: TerminalCall): Promise<TerminalResult> {
  const started = Date.now();
  const { sandbox } = context;
  const process = await processes.start(sandbox, {
    command: call.command,
    cwd: call.cwd,
    terminal: call.pty ? terminalSize : undefined,
    patterns: call.notify_on ?? [],
  });
  if (call.stdin !== undefined) await processes.write(process, call.stdin, true);
  return {
    output: '',
    exit_code: null,
    ended: 'background',
    cwd: sandbox.cwd,
    duration_ms: Date.now() - started,
    truncated: false,
    process_id: process.facts.id,
  };
}

async function runToEnd(context: ToolContext, call: TerminalCall, timeoutSeconds: number): Promise<TerminalResult> {
  const { sandbox, signal, maxBytes } = context;
  const started = Date.now();
  const capture = new OutputCapture({ sandbox, maxBytes, redact: context.redact, onText: (text) => context.progress(text) });
  const handle = await sandbox.exec(requestFor(call));
  if (call.stdin !== undefined) {
    const end = call.pty ? '\x04' : '';
    // A command need not read what it is given.
    const written = handle.write(call.stdin + end).catch(() => undefined);
    if (!call.pty) void written.then(() => handle.closeStdin());
  }
  const { clock } = handle;
  const end = await run(handle, { timeoutMs: timeoutSeconds * 1000, clock, signal, onOutput: (chunk) => capture.push(chunk) });
  const hasFailed = end.kind === 'exited' && end.code !== 0;
  const [{ text, truncated, file }, hits, networkNote] = await Promise.all([
    capture.end(),
    handle.troubles(),
    handle.networkNote(hasFailed),
  ]);
  return {
    output: text,
    exit_code: end.kind === 'exited' ? end.code : null,
    ended: end.kind,
    ...noteOn(call.command, end, hits),
    ...(networkNote !== undefined && { network: networkNote }),
    cwd: sandbox.cwd,
    duration_ms: Date.now() - started,
    truncated,
    ...(file !== undefined && { output_file: file }),
  };
}

function requestFor({ command, cwd, pty, stdin }: TerminalCall): ExecRequest {
  return {
    command,
    stdin: stdin === undefined ? 'empty' : 'open',
    ...(cwd !== undefined && { cwd }),
    ...(pty && { terminal: terminalSize }),
  };
}

function noteOn(command: string, end: RunEnd, hits: readonly LimitHit[]): { note?: string } {
  const words = wordsFor(command, end);
  const notes = [...(words === undefined ? [] : [words]), ...hits.map((hit) => limitHitSentences[hit])];
  return notes.length === 0 ? {} : { note: notes.join('; ') };
}

function wordsFor(command: string, end: RunEnd): string | undefined {
  switch (end.kind) {
    case 'exited':
      return exitNote(command, end.code);
    case 'signaled':
      return `ended by SIG${end.signal}`;
    case 'timeout':
      return `ended after ${end.afterMs / 1000} s, with everything it had started`;
    case 'interrupted':
      return 'interrupted; everything it had started is dead';
    case 'lost':
      return `it was lost: ${end.reason}. How it ended is unknown, and it is not repeated`;
  }
}

function outcomeOf(command: string, { ended, exit_code }: TerminalResult): CallOutcome {
  if (ended === 'background') return { kind: 'answered' };
  if (ended !== 'exited') return { kind: 'failed', reason: ended };
  const exitCode = exit_code ?? undefined;
  if (exitCode === 0) return { kind: 'done' };
  return { kind: exitCode !== undefined && isAnswer(command, exitCode) ? 'answered' : 'failed', exitCode };
}

function render({ output: text, exit_code, ended, note, network, process_id }: TerminalResult): string {
  if (ended === 'background') return `Started in the background as process ${process_id}. Use the tool process to follow it.`;
  const code = ended === 'exited' && exit_code !== 0 ? `exit code ${exit_code}` : '';
  const how = [code, note ?? (ended === 'exited' ? '' : ended)].filter((part) => part !== '').join(': ');
  return withRemarks(text, how, network);
}
