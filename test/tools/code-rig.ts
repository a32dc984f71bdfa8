import * as z from 'zod';
import type { Action, Permission, ScriptLanguage } from '../../src/core/approval.ts';
import type { SandboxSpec } from '../../src/core/sandbox.ts';
import type { ToolResult } from '../../src/core/tool.ts';
import { unredacted } from '../../src/lib/redact.ts';
import { run } from '../../src/shell/run.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { type ExecuteCodeOptions, executeCode } from '../../src/tools/execute-code/execute-code.ts';
import { type CallOptions, Toolbox } from '../../src/tools/toolbox.ts';
import { type Rig, useRig } from '../contracts/sandbox/rig.ts';
import type { TestEngine } from '../engines.ts';

interface CodeResult {
  status: 'success' | 'error' | 'timeout' | 'interrupted';
  output: string;
  exit_code: number | null;
  tool_calls: number;
  duration_ms: number;
  truncated: boolean;
  output_file?: string;
  error?: string;
}

interface CodeOptions extends CallOptions {
  timeout?: number;
  settings?: Partial<Omit<ExecuteCodeOptions, 'tools'>>;
  guard?: (action: Action) => Permission;
  maxBytes?: number;
}

export interface CodeRig {
  readonly rig: Rig;
  /** Whatever comes of it. */
  call(language: ScriptLanguage, code: string, options?: CodeOptions): Promise<ToolResult>;
  /** Of a script that was run. */
  run(language: ScriptLanguage, code: string, options?: CodeOptions): Promise<CodeResult>;
  /** What a script prints that must succeed. */
  output(language: ScriptLanguage, code: string, options?: CodeOptions): Promise<string>;
}

/** One sandbox, and scripts in it that can call a few tools. */
export function useCode(engine: TestEngine, wishes?: Partial<SandboxSpec>): CodeRig {
  const rig = useRig(engine, wishes);
  const call: CodeRig['call'] = async (language, code, options = {}) => {
    const { timeout, settings, guard = () => ({ allowed: true }), maxBytes = 20_000, ...callOptions } = options;
    const tools = [command, echo, hidden];
    const tool = executeCode({ timeoutSeconds: 60, maxToolCalls: 50, mode: 'project', ...settings, tools });
    const toolbox = new Toolbox({
      tools: [...tools, tool],
      sandbox: rig.sandbox,
      guard: async (actions) => actions.map(guard).find(({ allowed }) => !allowed) ?? { allowed: true },
      redact: unredacted,
      maxBytes,
    });
    return await toolbox.call('execute_code', { language, code, ...(timeout !== undefined && { timeout }) }, callOptions);
  };
  const runIt: CodeRig['run'] = async (language, code, options) => {
    const result = await call(language, code, options);
    if (!result.ok) throw new Error(result.text);
    return result.data as unknown as CodeResult;
  };
  return {
    rig,
    call,
    run: runIt,
    output: async (language, code, options) => {
      const { status, output, error } = await runIt(language, code, options);
      if (status !== 'success') throw new Error(`${error}\n${output}`);
      return output;
    },
  };
}

const hints = { readOnly: false, destructive: false, idempotent: false, openWorld: false };

/** Runs bash in the session, with its state. */
const command = defineTool({
  name: 'command',
  title: 'Run a command',
  description: 'Runs a command.',
  hints,
  forScripts: true,
  input: z.strictObject({ command: z.string().min(1), timeout: z.number().optional(), stdin: z.string().optional() }),
  output: z.object({ output: z.string(), code: z.number().nullable() }),
  prepare: (input, session) => ({
    actions: [{ kind: 'command', command: input.command, cwd: session.cwd }],
    run: async (context) => {
      const handle = await context.sandbox.exec({ command: input.command });
      const printed: Buffer[] = [];
      const timeoutMs = (input.timeout ?? 60) * 1000;
      const end = await run(handle, { timeoutMs, signal: context.signal, onOutput: ({ data }) => void printed.push(data) });
      return { output: Buffer.concat(printed).toString(), code: end.kind === 'exited' ? end.code : null };
    },
  }),
  render: ({ output }) => output,
});

/** Gives back what it was given. */
const echo = defineTool({
  name: 'echo_text',
  title: 'Echo',
  description: 'Gives back what it was given.',
  hints,
  forScripts: true,
  input: z.strictObject({
    text: z.string(),
    times: z.number().int().optional(),
    loud: z.boolean().optional(),
    parts: z.array(z.unknown()).optional(),
  }),
  output: z.object({ text: z.string(), parts: z.array(z.unknown()) }),
  prepare: ({ text, times = 1, loud = false, parts = [] }) => ({
    actions: [],
    run: async () => ({ text: (loud ? text.toUpperCase() : text).repeat(times), parts }),
  }),
  render: ({ text, parts }) => text + parts.map((part) => `\n- ${JSON.stringify(part)}`).join(''),
});

const hidden = defineTool({
  name: 'hidden',
  title: 'Hidden',
  description: 'Not for scripts.',
  hints,
  forScripts: false,
  input: z.strictObject({}),
  output: z.object({}),
  prepare: () => ({ actions: [], run: async () => ({}) }),
  render: () => 'hidden',
});
