import type { JSONValue, LanguageModel } from 'ai';
import type { BackgroundNotice } from './background.ts';
import type { Usage } from './conversation.ts';
import type { ErrorCode } from './errors.ts';
import type { Isolation, Limits, Network } from './sandbox.ts';
import type { Tool, ToolResult } from './tool.ts';

/** Settings of a provider's own: JSON by the provider's name. */
export type ProviderSettings = Record<string, Record<string, JSONValue>>;

/** A failed call to a model: the cause and the remedy. */
export interface ModelFailure {
  code: Extract<ErrorCode, 'model/unusable' | 'model/failed'>;
  /** One sentence. */
  message: string;
  hint: string | undefined;
  /** The same call may succeed later; after this many milliseconds when the provider said so. */
  isTransient: boolean;
  retryAfterMs: number | undefined;
  /**
   * `too-long`: shorter input may pass. `images`, `thoughts`: the same without images, or without thoughts of earlier
   * answers, may. `missing-thoughts`: the same with thoughts in every earlier answer may.
   */
  about: 'too-long' | 'images' | 'thoughts' | 'missing-thoughts' | undefined;
}

/** A model that can be talked to. Nothing was sent to anybody to make it. */
export interface Model {
  /** Provider and name, as people write it: `anthropic/claude-sonnet`. */
  readonly id: string;
  readonly language: LanguageModel;
  /** How much it can take in, as far as anybody knows. */
  readonly contextTokens: number;
  /** Goes along with every call. */
  readonly settings: ProviderSettings;
  /** Marks a place up to which the provider keeps the input for the next call, where it has to be told. */
  readonly cacheMark: ProviderSettings | undefined;
  /** An answer of which nothing comes for so long has broken off. */
  readonly stallMs: number;
  /** In US dollars, when it is known. */
  cost(usage: Omit<Usage, 'cost'>, metadata: Readonly<Record<string, unknown>> | undefined): number | undefined;
  /** Never throws. */
  explain(error: unknown): ModelFailure;
}

/** A message of a person. Names, texts and quotes come from people: data, never trusted. */
export interface TurnInput {
  text: string;
  /** The day, when it is another than the model was told. */
  day?: string | undefined;
  /** Messages of the agent that did not arrive, in sentences. */
  undelivered?: string | undefined;
  /** The person's name; undefined where there is no person. */
  from: string | undefined;
  /** Tells apart people who use the same name; people cannot choose it. */
  person?: string | undefined;
  quoted?: { from: string; text: string } | undefined;
  /** The text was written by another person and forwarded. */
  forwarded?: { from: string } | undefined;
  /** Not a message of a person: a report on background processes. */
  report?: { notices: readonly BackgroundNotice[]; omitted: number } | undefined;
  images?: readonly { data: Uint8Array; mediaType: string }[] | undefined;
  /** Files the person sent, where they are in the sandbox. */
  files?: readonly { path: string; bytes: number | undefined }[] | undefined;
}

/** Tells the model about its surroundings: for the whole of a conversation, so that its provider can keep the text. */
export interface TurnFacts {
  /** The agent's name. */
  name: string;
  /** Instructions of the operator. Trusted. */
  instructions?: string | undefined;
  sandbox:
    | {
        backend: string;
        isolation: Isolation;
        network: Network;
        /** Workspace and home return with the session. */
        persistent: boolean;
        image: string | undefined;
        /** Why there is no network although one is configured. */
        networkObstacle?: string | undefined;
        /** What a restricted network reaches: hosts, or words for many of them. */
        networkHosts?: readonly string[] | undefined;
        /** People are asked about other hosts. */
        networkAsks?: boolean | undefined;
        /** Variables that hold the placeholder of a secret, and the hosts that it is for. */
        secrets?: readonly { variable: string; hosts: readonly string[] }[] | undefined;
        /** undefined where there are none. */
        limits?: Limits | undefined;
        /** Ways to install packages inside, in sentences. */
        installing?: string | undefined;
        /** Where the files are that people send. */
        received?: string | undefined;
        /** Where skills are, if there are any. */
        skills?: string | undefined;
      }
    | undefined;
  chat: {
    platform: string;
    isDirect: boolean;
    /** As people named it. */
    title?: string | undefined;
    topic?: string | undefined;
    /** False where only plain text shows. */
    markdown: boolean;
    /** Whether files can be sent to it. */
    files: boolean;
  };
  /** When the conversation began, in this time zone; undefined is the time zone of the machine. */
  now: Date;
  timeZone?: string | undefined;
}

export type AgentEvent =
  /** The model is asked, and has said nothing yet. */
  | { type: 'asking' }
  | { type: 'text'; text: string }
  /** The answer broke off and is asked for again: what was told of this step's text is void. */
  | { type: 'text-discarded' }
  | { type: 'thinking'; text: string }
  | { type: 'tool-started'; callId: string; name: string; input: unknown }
  | { type: 'tool-progress'; callId: string; text: string }
  | { type: 'tool-ended'; callId: string; name: string; result: ToolResult }
  /** All text of one answer of the model, and whether it goes on because tools were called. */
  | { type: 'step-finished'; text: string; usage: Usage; goesOn: boolean }
  /** The provider cannot answer now; it is asked again after this time. */
  | { type: 'waiting'; reason: string; ms: number; attempt: number }
  /** The oldest part of the conversation is being summarised. */
  | { type: 'compacting' };

/** One turn: a message came, and the agent works until it has an answer. */
export interface Turn {
  model: Model;
  /** The transcript so far, as it was recorded. */
  history: readonly unknown[];
  /** Empty to go on with a transcript that has it already. */
  input: readonly TurnInput[];
  facts: TurnFacts;
  tools: readonly Tool[];
  /** Never rejects. */
  call(
    name: string,
    input: unknown,
    options: { callId: string; signal: AbortSignal; progress: (text: string) => void },
  ): Promise<ToolResult>;
  /**
   * The same for a call that an earlier program made: does it when it is sure that it had not begun, such as when it still waits for a yes.
   * undefined when that is unknown, and then the model is told so. Without it no such call is made.
   */
  takeUp?: ((...call: Parameters<Turn['call']>) => Promise<ToolResult | undefined>) | undefined;
  /**
   * Adds to the transcript. Awaited before anything that the messages ask for is done, so what is not recorded never happens. When it rejects the
   * turn ends.
   */
  record(messages: readonly unknown[], usage?: Usage): Promise<void>;
  /**
   * From now on the transcript begins with `summary` instead of its first `count` messages: of `history`, with what was recorded since. When it
   * rejects, the turn goes on and the transcript is as it was.
   */
  summarise(count: number, summary: unknown, usage: Usage): Promise<void>;
  /** Messages that came meanwhile for this turn. Asked between two steps; each input is given once. */
  steer?(): Promise<readonly TurnInput[]>;
  /** Must not throw. */
  listener(event: AgentEvent): void;
  signal: AbortSignal;
  /** How many answers of the model the turn may take. */
  maxSteps: number;
}

export type TurnResult =
  | { kind: 'answered'; text: string }
  /** Everything up to then is recorded. */
  | { kind: 'interrupted' }
  /** The last answer called tools, which were run. */
  | { kind: 'limit'; steps: number }
  | { kind: 'failed'; code: ErrorCode; reason: string; hint: string | undefined };

/** Where a turn stands whose messages were recorded. */
export type TurnProgress = {
  /** How often people were heard in it. */
  inputs: number;
  /** The texts of the model's answers, also of those that called tools. */
  answers: readonly string[];
} & (
  | { kind: 'unanswered' | 'answered' }
  /** Tools were called, and their results are unknown. */
  | { kind: 'calling'; calls: readonly OpenCall[] }
);

/** A call of a tool whose result was not recorded. */
export interface OpenCall {
  callId: string;
  name: string;
  input: unknown;
}

export interface Agent {
  /** Never rejects. */
  run(turn: Turn): Promise<TurnResult>;
}
