import * as z from 'zod';
import type { Action } from '../../core/approval.ts';
import { HermeticError } from '../../core/errors.ts';
import type { Tool, ToolContext } from '../../core/tool.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { plainText } from '../../lib/terminal-text.ts';
import { defineTool } from '../define-tool.ts';
import type { BackgroundProcess, ProcessState } from './background-process.ts';
import type { ProcessTable } from './process-table.ts';

const input = z.strictObject({
  action: z
    .enum(['list', 'poll', 'log', 'wait', 'kill', 'write', 'close', 'resize'])
    .describe(
      'list: all of them. poll: state, and what was printed since the last poll. log: a part of what was printed. wait: until it ends. ' +
        'kill: end it and everything it started. write: to its standard input. close: end its standard input. resize: its terminal.',
    ),
  id: z.string().optional().describe('Of the process; for every action but list.'),
  offset: z.number().int().optional().describe('log: the byte to start at, from 0; negative counts from the end (default: the end).'),
  limit: z.number().int().positive().optional().describe('log: how many bytes at most.'),
  timeout: z.number().positive().max(600).optional().describe('wait: seconds (default 60).'),
  signal: z.enum(['INT', 'TERM', 'KILL']).optional().describe('kill: what to send first (default TERM). After 2 s it is KILL.'),
  data: z.string().optional().describe('write: the text, with a line end where one is meant.'),
  rows: z.number().int().min(1).max(1000).optional().describe('resize'),
  columns: z.number().int().min(1).max(1000).optional().describe('resize'),
});

const entry = z.object({
  id: z.string(),
  command: z.string(),
  state: z.enum(['running', 'exited', 'killed', 'lost']),
  exit_code: z.number().nullable(),
  note: z.string().optional(),
  network: z
    .string()
    .optional()
    .describe('Where the network is restricted: which connections of the sandbox failed while it ran, and why. From poll, log and wait.'),
  started_at: z.string(),
  output_bytes: z.number().describe('How much it has printed so far.'),
});

const output = z.object({
  processes: z.array(entry),
  output: z.string().optional().describe('Clean text.'),
  offset: z.number().optional().describe('Of the first byte in `output`.'),
  next_offset: z.number().optional().describe('Where to go on reading.'),
  timed_out: z.boolean().optional().describe('wait: it was still running when the time was over.'),
});

type Input = z.output<typeof input>;
type Result = z.output<typeof output>;

const graceMs = 2_000;
const waitSeconds = 60;
/** Longer ones are shown shortened in a list. */
const maxCommand = 2_000;

/** Follows what runs in the background. */
export function process(processes: ProcessTable): Tool {
  return defineTool({
    name: 'process',
    title: 'Follow background processes',
    description:
      'Background processes of this session, started by terminal with background: list, poll, log, wait, kill, write, close, resize. ' +
      'kill returns when everything the process started is dead.',
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
    forScripts: true,
    input,
    output,
    prepare: (call) => {
      const { action, id } = call;
      if (action !== 'list' && id === undefined) throw new HermeticError('tool/bad-input', `${action} needs the id of a process.`);
      if (action === 'write' && call.data === undefined) throw new HermeticError('tool/bad-input', 'write needs data.');
      if (action === 'resize' && (call.rows === undefined || call.columns === undefined)) {
        throw new HermeticError('tool/bad-input', 'resize needs rows and columns.');
      }
      // Security: what a shell reads is run like what it is given.
      const actions: Action[] = action === 'write' ? [processes.inputFor(id ?? '', call.data ?? '')] : [];
      const given = processes.givenTo(id ?? '');
      // About processes that go on, or ended long before: of neither this call can say that it succeeded.
      return { actions, run: (context) => act(processes, call, given, context), outcome: () => ({ kind: 'answered' }) };
    },
    render,
  });
}

async function act(table: ProcessTable, call: Input, given: string, context: ToolContext): Promise<Result> {
  if (call.action === 'list') return { processes: (await table.list()).map(describe) };
  const process = await table.get(call.id ?? '');
  switch (call.action) {
    case 'poll':
      return await poll(table, process, context);
    case 'log':
      return await log(table, process, call.offset ?? -context.maxBytes, Math.min(call.limit ?? context.maxBytes, context.maxBytes));
    case 'wait':
      return await wait(table, process, (call.timeout ?? waitSeconds) * 1000, context);
    case 'kill':
      await awaited(process, () => table.kill(process, call.signal ?? 'TERM', graceMs));
      break;
    case 'write':
      await table.write(process, call.data ?? '', false, given);
      break;
    case 'close':
      await table.closeStdin(process);
      break;
    case 'resize':
      await table.resize(process, { rows: call.rows ?? 0, columns: call.columns ?? 0 });
  }
  return { processes: [describe(process)] };
}

async function poll(table: ProcessTable, process: BackgroundProcess, { maxBytes }: ToolContext): Promise<Result> {
  // When there is too much, the end of it is what matters.
  const from = Math.max(process.readBytes, process.bytes - maxBytes);
  const result = await log(table, process, from, maxBytes);
  process.readBytes = result.next_offset ?? from;
  return result;
}

async function log(table: ProcessTable, process: BackgroundProcess, offset: number, maxBytes: number): Promise<Result> {
  const piece = await table.read(process, offset, maxBytes);
  await process.lookAtNetwork();
  const isLast = piece.offset + piece.data.length >= piece.size && process.state.kind !== 'running';
  const data = isLast ? piece.data : wholeCharacters(piece.data);
  return {
    processes: [describe(process)],
    output: plainText(data.toString()),
    offset: piece.offset,
    next_offset: piece.offset + data.length,
  };
}

async function wait(table: ProcessTable, process: BackgroundProcess, forMs: number, context: ToolContext): Promise<Result> {
  const hasEnded = await awaited(process, () => settlesWithin({ ms: forMs, signal: context.signal }, process.ended));
  return { ...(await poll(table, process, context)), timed_out: !hasEnded };
}

/** While this waits, the caller tells the model of its end, so it is not reported twice. */
async function awaited<T>(process: BackgroundProcess, work: () => Promise<T>): Promise<T> {
  process.awaitedBy += 1;
  try {
    return await work();
  } finally {
    process.awaitedBy -= 1;
  }
}

/** Without a character at the end that has not come as a whole. */
function wholeCharacters(data: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, data.length); back++) {
    const byte = data[data.length - back] ?? 0;
    if (byte < 0x80) return data;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? data.subarray(0, -back) : data;
  }
  return data;
}

function describe({ facts, state, network, bytes }: BackgroundProcess): Result['processes'][number] {
  const note = noteOn(state);
  return {
    id: facts.id,
    command: facts.command.length > maxCommand ? `${facts.command.slice(0, maxCommand)}…` : facts.command,
    state: state.kind,
    exit_code: state.kind === 'exited' ? state.code : null,
    ...(note !== undefined && { note }),
    ...(network !== undefined && { network }),
    started_at: facts.startedAt.toISOString(),
    output_bytes: bytes,
  };
}

function noteOn(state: ProcessState): string | undefined {
  if (state.kind === 'killed') return `ended by SIG${state.signal}; everything it had started is dead`;
  return state.kind === 'lost' ? state.reason : undefined;
}

function render({ processes, output: text, next_offset, timed_out }: Result): string {
  if (processes.length === 0) return 'No background processes.';
  const lines = processes.map(({ id, command, state, exit_code, note, output_bytes }) => {
    const how = state === 'exited' ? `exited with code ${exit_code}` : `${state}${note ? ` (${note})` : ''}`;
    return `${id} ${how}, ${output_bytes} bytes printed: ${command.split('\n')[0]}`;
  });
  if (timed_out) lines.push('[still running]');
  if (text !== undefined) lines.push(text === '' ? '[no new output]' : text, `[next offset ${next_offset}]`);
  const network = processes.length === 1 ? processes[0]?.network : undefined;
  if (network !== undefined) lines.push(`[${network}]`);
  return lines.join('\n');
}
