import { constants } from 'node:os';
import * as z from 'zod';
import { HermeticError } from '../../core/errors.ts';
import { limitHitSentences } from '../../core/sandbox.ts';
import type { CallOutcome, CallSandbox, Tool, ToolContext } from '../../core/tool.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { remember } from '../../lib/remember.ts';
import { askSandbox } from '../../shell/ask-sandbox.ts';
import { exitCodeOf, type RunEnd, run } from '../../shell/run.ts';
import { defineTool } from '../define-tool.ts';
import { OutputCapture } from '../output-capture.ts';
import { withRemarks } from '../remarks.ts';
import { CodeBridge } from './code-bridge.ts';
import { type CodeFunction, declarationsFor, functionsOf, signatureOf } from './code-functions.ts';
import { type CodeMode, noInterpreter, startRequest } from './code-interpreters.ts';

export interface ExecuteCodeOptions {
  timeoutSeconds: number;
  /** In one script. */
  maxToolCalls: number;
  mode: CodeMode;
  /** The other tools of the toolbox. Scripts can call those that are for scripts. */
  tools: readonly Tool[];
}

const maxCodeCharacters = 1_000_000;
const languages = ['python', 'javascript', 'bash'] as const;

const output = z.object({
  status: z.enum(['success', 'error', 'timeout', 'interrupted']),
  output: z.string().describe('What the script printed on standard output and standard error, in the order of arrival, as clean text.'),
  exit_code: z.number().nullable().describe('null when it is unknown.'),
  tool_calls: z.number().describe('How many tools the script has called.'),
  duration_ms: z.number(),
  truncated: z.boolean().describe('Whether the middle of the output was left out.'),
  output_file: z.string().optional().describe('A file in the sandbox that has all of the output, when it was too long.'),
  error: z.string().optional().describe('Why it did not succeed.'),
  network: z.string().optional().describe('Where the network is restricted: which connections failed while it ran, and why.'),
});

type CodeResult = z.output<typeof output>;

interface CodeCall {
  language: (typeof languages)[number];
  code: string;
  timeout?: number | undefined;
}

const inputFor = remember((timeoutSeconds: number) =>
  z.strictObject({
    language: z.enum(languages),
    code: z
      .string()
      .min(1)
      .max(maxCodeCharacters)
      .refine((code) => !code.includes('\0'), 'a script cannot contain a NUL character')
      .describe('The whole script.'),
    timeout: z
      .number()
      .positive()
      .max(timeoutSeconds, `at most ${timeoutSeconds} seconds`)
      .optional()
      .describe(`Seconds after which it is ended (default ${timeoutSeconds}).`),
  }),
);

/** Runs scripts that can call tools. */
export function executeCode(options: ExecuteCodeOptions): Tool {
  const { timeoutSeconds } = options;
  const functions = functionsOf(options.tools);
  return defineTool({
    name: 'execute_code',
    title: 'Run a script',
    description: describeFor(options, functions.values()),
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    forScripts: false,
    input: inputFor(timeoutSeconds),
    output,
    prepare: (call, session) => ({
      actions: [{ kind: 'script', language: call.language, code: call.code, cwd: session.cwd }],
      run: (context) => inItsDirectory(options.mode, context.sandbox, (cwd) => runScript(context, call, cwd, options, functions)),
      outcome: callOutcome,
    }),
    render,
  });
}

function describeFor({ mode, maxToolCalls }: ExecuteCodeOptions, functions: Iterable<CodeFunction>): string {
  const where = mode === 'project' ? "in the session's directory" : 'in an empty directory that is removed afterwards';
  return (
    `Runs a script in this session's sandbox, ${where}. Use it for what needs several steps, loops or decisions: the script calls tools as ` +
    'functions and only what it prints comes back. Python: the functions are there (and in the module hermetic_tools), take values in ' +
    'order or by name, return a dict and raise ToolError. JavaScript: the same as async functions, in a module with top-level await. ' +
    'Bash: `name value... --name value`, prints the text of the result and returns 1 on failure; standard input stands for the last ' +
    `required argument. A script may call tools ${maxToolCalls} times. Everything it started ends with it. ` +
    `Functions: ${[...functions].map(signatureOf).join(', ') || 'none'}.`
  );
}

/** Undefined is where the session is. */
async function inItsDirectory<T>(mode: CodeMode, sandbox: CallSandbox, action: (cwd: string | undefined) => Promise<T>): Promise<T> {
  if (mode === 'project') return await action(undefined);
  const command = await guestBash('code-directory');
  const directory = (await askSandbox(sandbox, { command, args: ['make'], cwd: '/' }, { maxBytes: 8192 })).stdout.toString().trimEnd();
  // Security: it is removed in the end, so it must be one of ours.
  if (!/^\/[^\n]*\/hermetic-code-\w{10}$/.test(directory))
    throw new HermeticError('tool/failed', 'The sandbox has no place for a temporary directory. The script was not run.');
  try {
    return await action(directory);
  } finally {
    // Of a sandbox that has ended there is nothing to remove.
    await askSandbox(sandbox, { command, args: ['remove', directory], cwd: '/' }).catch(() => undefined);
  }
}

async function runScript(
  context: ToolContext,
  { language, code, timeout }: CodeCall,
  cwd: string | undefined,
  { timeoutSeconds, maxToolCalls }: ExecuteCodeOptions,
  functions: ReadonlyMap<string, CodeFunction>,
): Promise<CodeResult> {
  const { sandbox, maxBytes } = context;
  const started = Date.now();
  const capture = new OutputCapture({ sandbox, maxBytes, redact: context.redact, onText: (text) => context.progress(text) });
  const request = await startRequest(language, cwd === undefined ? 'project' : 'strict');
  const handle = await sandbox.exec({ ...request, ...(cwd !== undefined && { cwd }) });
  const violated = new AbortController();
  const bridge = new CodeBridge({
    language,
    functions,
    maxToolCalls,
    call: (name, input, signal) => context.call(name, input, signal),
    write: (data) => handle.write(data),
    fail: () => violated.abort(),
  });
  let isDead = false;
  try {
    bridge.begin(code, declarationsFor(language, functions.values()));
    const end = await run(handle, {
      timeoutMs: (timeout ?? timeoutSeconds) * 1000,
      clock: handle.clock,
      signal: AbortSignal.any([context.signal, violated.signal]),
      onOutput: async (chunk) => (chunk.stream === 'stdout' ? bridge.receive(chunk.data) : await capture.push(chunk)),
    });
    isDead = end.kind === 'timeout' || end.kind === 'interrupted';
    if (bridge.missing !== undefined) throw noInterpreter(language, bridge.missing);
    const { text, truncated, file } = await capture.end();
    const outcome = outcomeOf(end, bridge.violation);
    // A script cannot know that it hit a limit of the sandbox.
    const hits = outcome.status === 'error' ? await handle.troubles() : [];
    const networkNote = await handle.networkNote(outcome.status === 'error');
    return {
      ...outcome,
      ...(hits.length > 0 && { error: [outcome.error, ...hits.map((hit) => limitHitSentences[hit])].join(' ') }),
      output: text,
      tool_calls: bridge.calls,
      duration_ms: Date.now() - started,
      truncated,
      ...(file !== undefined && { output_file: file }),
      ...(networkNote !== undefined && { network: networkNote }),
    };
  } finally {
    // Everything the script started is dead when this returns: its processes, and the tools it called.
    await Promise.all([isDead ? undefined : handle.kill('KILL'), bridge.end()]);
  }
}

function outcomeOf(end: RunEnd, violation: string | undefined): Pick<CodeResult, 'status' | 'exit_code' | 'error'> {
  const exit_code = end.kind === 'lost' ? null : exitCodeOf(end, (name) => constants.signals[`SIG${name}` as NodeJS.Signals]);
  if (violation !== undefined) return { status: 'error', exit_code: null, error: `The script was ended: ${violation}.` };
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? { status: 'success', exit_code } : { status: 'error', exit_code, error: `It exited with code ${end.code}.` };
    case 'signaled':
      return { status: 'error', exit_code, error: `It was ended by SIG${end.signal}.` };
    case 'timeout':
      return { status: 'timeout', exit_code, error: `It was ended after ${end.afterMs / 1000} s, with everything it had started.` };
    case 'interrupted':
      return { status: 'interrupted', exit_code, error: 'It was interrupted; everything it had started is dead.' };
    case 'lost':
      return { status: 'error', exit_code, error: `The script was lost: ${end.reason}. How it ended is unknown, and it is not repeated.` };
  }
}

function callOutcome({ status, exit_code }: CodeResult): CallOutcome {
  if (status === 'success') return { kind: 'done' };
  return status === 'error' ? { kind: 'failed', exitCode: exit_code ?? undefined } : { kind: 'failed', reason: status };
}

function render({ status, output: text, error, network }: CodeResult): string {
  return withRemarks(text, status === 'success' ? undefined : (error ?? status), network);
}
