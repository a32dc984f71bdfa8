import { acceptedContent, CLIENT_CAPABILITIES_META_KEY, inputRequired, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { questionText } from '../approval/question-text.ts';
import type { Answer, Approver } from '../core/approval.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { BackgroundFeed } from './background-feed.ts';
import type { CallState, PendingCalls, Round } from './pending-calls.ts';

/** The tools of one session, as MCP serves them. */
interface ServedTools {
  tools: readonly Tool[];
  call(
    name: string,
    input: unknown,
    options: { signal: AbortSignal; progress(text: string): void; approver: Approver | undefined },
  ): Promise<ToolResult>;
}

export interface McpOptions {
  version: string;
  /** Told to the model: what kind of place the tools work in. */
  instructions: string;
  served: ServedTools;
  /** Outlives a server where every request has one of its own. */
  pending: PendingCalls;
  feed: BackgroundFeed;
}

const answerSchema = z.object({
  decision: z.enum(['once', 'session', 'deny']).describe('Whether it may run: this once, in this session, or not at all.'),
  remark: z.string().optional().describe('What the agent should know.'),
});

/** The tools as a server of the Model Context Protocol. */
export function mcpServer({ version, instructions, served, pending, feed }: McpOptions): McpServer {
  const server = new McpServer(
    { name: 'hermetic', title: 'Hermetic', version },
    { capabilities: { tools: {}, logging: {} }, instructions },
  );
  for (const tool of served.tools) {
    const { name, title, description, hints, input, output } = tool;
    const annotations = {
      title,
      readOnlyHint: hints.readOnly,
      destructiveHint: hints.destructive,
      idempotentHint: hints.idempotent,
      openWorldHint: hints.openWorld,
    };
    server.registerTool(
      name,
      { title, description, inputSchema: onlyDescribed(input), outputSchema: onlyDescribed(output), annotations },
      async (args, context) => {
        await feed.tell(context);
        return await answer(server, served, pending, tool, args, context);
      },
    );
  }
  return server;
}

/** The input is checked by the toolbox, whose words are for models, and the output by the compiler. */
function onlyDescribed<Schema extends Tool['input'] | Tool['output']>(schema: Schema): Schema {
  const { '~standard': standard } = schema;
  return { '~standard': { ...standard, validate: (value: unknown) => ({ value }) } } as Schema;
}

async function answer(server: McpServer, served: ServedTools, pending: PendingCalls, tool: Tool, args: unknown, context: ServerContext) {
  const round = roundOf(context);
  const state = await callState(server, served, pending, tool, args, context, round);
  if (state === undefined) return failure('This question has expired. Nothing was run.');
  if (state.kind === 'done') return resultOf(state.result);
  return inputRequired({
    inputRequests: { approval: inputRequired.elicit({ message: questionText(state.question), requestedSchema: answerSchema }) },
    requestState: state.id,
  });
}

function callState(
  server: McpServer,
  served: ServedTools,
  pending: PendingCalls,
  tool: Tool,
  args: unknown,
  context: ServerContext,
  round: Round,
): Promise<CallState> | undefined {
  const waiting = context.mcpReq.requestState<string>();
  if (waiting !== undefined) return pending.resume(waiting, givenAnswer(context), round);
  // Security: without a way to ask, what needs a person is refused.
  const canAsk = clientCanAsk(server, context);
  return pending.begin((approver, joined) => served.call(tool.name, args, { ...joined, approver: canAsk ? approver : undefined }), round);
}

function clientCanAsk(server: McpServer, { mcpReq }: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const own = envelope[CLIENT_CAPABILITIES_META_KEY] as { elicitation?: unknown } | undefined;
  return (own ?? server.server.getClientCapabilities())?.elicitation !== undefined;
}

/** Security: everything but a clear yes is a no. */
function givenAnswer(context: ServerContext): Answer {
  const by = 'the person at the client';
  const given = acceptedContent(context.mcpReq.inputResponses, 'approval', answerSchema);
  if (given?.decision === 'once' || given?.decision === 'session') return { kind: given.decision, by };
  return { kind: 'deny', by, remark: given?.remark };
}

function roundOf({ mcpReq }: ServerContext): Round {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  return {
    signal: mcpReq.signal,
    progress: (message) => {
      if (progressToken === undefined) return;
      progress += 1;
      // The client may have disconnected.
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
    },
  };
}

function resultOf(result: ToolResult) {
  if (!result.ok) return failure(result.text);
  return { content: [{ type: 'text' as const, text: result.text }], structuredContent: result.data as Record<string, unknown> };
}

function failure(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}
