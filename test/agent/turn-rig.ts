import * as z from 'zod';
import { createAgent } from '../../src/agent/loop.ts';
import type { AgentEvent, Model, Turn, TurnInput, TurnResult } from '../../src/core/agent.ts';
import type { Usage } from '../../src/core/conversation.ts';
import type { Tool, ToolResult } from '../../src/core/tool.ts';
import { type ModelSettings, openModel } from '../../src/models/index.ts';
import { type ModelServer, type Script, startModelServer } from '../fakes/model-server.ts';

type CallOptions = Parameters<Turn['call']>[2];
type Runner = (input: Record<string, string>, options: CallOptions) => Promise<string> | string;

export interface Rig extends AsyncDisposable {
  server: ModelServer;
  model: Model;
  /** The transcript, as a store would keep it. */
  transcript: unknown[];
  usages: Usage[];
  summaries: unknown[];
  events: AgentEvent[];
  /** Everything that happened, in order: requests are not in it. */
  log: string[];
  tools: Record<string, Runner>;
  run(text: string | readonly TurnInput[], changes?: Partial<Turn>): Promise<TurnResult>;
}

export const facts: Turn['facts'] = {
  name: 'Hermetic',
  sandbox: {
    backend: 'docker',
    isolation: 'container',
    network: 'restricted',
    persistent: true,
    image: 'debian:12',
  },
  chat: { platform: 'web', isDirect: true, markdown: true, files: true },
  now: new Date('2026-03-01T12:00:00Z'),
  timeZone: 'UTC',
};

export const said = (text: string, from = 'Ada'): TurnInput => ({ text, from });

/** An agent, a scripted provider, and a transcript in memory. */
export async function startRig(
  script: Script,
  settings: ModelSettings = {},
  retryPolicy: Parameters<typeof createAgent>[0] = {},
): Promise<Rig> {
  const server = await startModelServer(script);
  const model = await openModel(
    { provider: 'openai-compatible', model: 'scripted', base_url: server.url, ...settings },
    {
      OPENAI_COMPATIBLE_API_KEY: 'key-1',
      ANTHROPIC_API_KEY: 'key-2',
      OPENROUTER_API_KEY: 'key-3',
      OPENAI_API_KEY: 'key-4',
      GEMINI_API_KEY: 'key-5',
    },
  );
  const agent = createAgent({ firstWaitMs: 1, longestWaitMs: 2, graceMs: 50, ...retryPolicy });
  const rig: Rig = {
    server,
    model,
    transcript: [],
    usages: [],
    summaries: [],
    events: [],
    log: [],
    tools: { echo: ({ text = '' }) => text },
    run(text, changes = {}) {
      const turn: Turn = {
        model,
        history: [...rig.transcript],
        input: typeof text === 'string' ? [said(text)] : text,
        facts,
        tools: Object.keys(rig.tools).map(toolNamed),
        async call(name, input, options) {
          rig.log.push(`run ${name} ${JSON.stringify(input)}`);
          const run = rig.tools[name];
          if (!run) return { ok: false, failure: 'unknown-tool', text: `There is no tool called ${name}.` };
          return resultOf(await run(input as Record<string, string>, options));
        },
        async record(messages, usage) {
          rig.log.push(`record ${(messages as { role: string }[]).map(({ role }) => role).join(' ')}`);
          rig.transcript.push(...(JSON.parse(JSON.stringify(messages)) as unknown[]));
          if (usage) rig.usages.push(usage);
        },
        async summarise(count, summary) {
          rig.transcript.splice(0, count, summary);
          rig.summaries.push(summary);
        },
        listener: (event) => {
          rig.events.push(event);
        },
        signal: new AbortController().signal,
        maxSteps: 20,
        ...changes,
      };
      return agent.run(turn);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
  return rig;
}

function resultOf(text: string): ToolResult {
  return text.startsWith('interrupted') ? { ok: false, failure: 'interrupted', text } : { ok: true, text, data: {} };
}

/** Only what a model is shown of it; the turn's `call` does the work. */
function toolNamed(name: string): Tool {
  return {
    name,
    title: name,
    description: `Does ${name}.`,
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    forScripts: false,
    input: z.strictObject({ text: z.string().describe('What to do it with.') }),
    output: z.strictObject({}),
    prepare: () => {
      throw new Error('a tool is called through the turn alone');
    },
  };
}

/** What the listener was told of text, pieces joined, with what became void left out. */
export function shownText(events: readonly AgentEvent[]): string {
  let shown = '';
  let step = '';
  for (const event of events) {
    if (event.type === 'text') step += event.text;
    else if (event.type === 'text-discarded') step = '';
    else if (event.type === 'step-finished') {
      shown += step;
      step = '';
    }
  }
  return shown + step;
}
