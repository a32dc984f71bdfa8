import type { Sandbox } from '../core/sandbox.ts';
import type { Tool } from '../core/tool.ts';
import { type ExecuteCodeOptions, executeCode } from './execute-code/execute-code.ts';
import { editFile } from './files/edit-file.ts';
import { readFile } from './files/read-file.ts';
import { searchFiles } from './files/search-files.ts';
import { type DeliverFile, sendFile } from './files/send-file.ts';
import { writeFile } from './files/write-file.ts';
import { process } from './process/process.ts';
import { ProcessTable } from './process/process-table.ts';
import { terminal } from './terminal.ts';

export interface ToolSetOptions {
  sandbox: Sandbox;
  terminal: { timeoutSeconds: number; maxTimeoutSeconds: number };
  code: Omit<ExecuteCodeOptions, 'tools'>;
  /** Without it there is no chat to send files to, and no tool for that. */
  deliver?: DeliverFile | undefined;
  /** The largest file that `deliver` takes. */
  maxFileBytes?: (() => number) | undefined;
}

/** Every tool there is, for one session, and what runs in its background. */
export function toolSet({ sandbox, terminal: limits, code, deliver, maxFileBytes }: ToolSetOptions): {
  tools: Tool[];
  processes: ProcessTable;
} {
  const processes = new ProcessTable(sandbox);
  const basic = [terminal({ ...limits, processes }), process(processes), readFile, writeFile, editFile, searchFiles];
  const tools = [...basic, executeCode({ ...code, tools: basic }), ...(deliver ? [sendFile(deliver, maxFileBytes)] : [])];
  return { tools, processes };
}
