import type { Agent, Model, TurnFacts } from '../core/agent.ts';
import type { CallOrigin } from '../core/approval.ts';
import type { BackgroundEvent, WatchedProcess } from '../core/background.ts';
import type { Channel, OutgoingFile } from '../core/channel.ts';
import type { SessionId } from '../core/session.ts';
import type { SetAside } from '../core/set-aside.ts';
import type { Store } from '../core/store.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { Wait } from '../core/waits.ts';
import type { Access } from './access.ts';
import type { Outbox } from './outbox/outbox.ts';
import type { ChatApprovals } from './questions/chat-approvals.ts';
import type { BackgroundNotify } from './sessions/background-reports.ts';
import type { ResetSettings } from './sessions/reset.ts';
import type { SharingSettings } from './sessions/session-key.ts';

/** As they are now: each is read when it is needed. */
export interface GatewaySettings {
  /** How a message affects the turn that runs. */
  readonly busyMode: 'interrupt' | 'queue' | 'steer';
  readonly backgroundNotify: BackgroundNotify;
  readonly reset: ResetSettings;
  readonly sharing: SharingSettings;
  readonly agentName: string;
  readonly maxSteps: number;
  /** After how long people are told that a model is asked again. Default: 5 s. */
  readonly retryNoticeMs?: number | undefined;
}

/** Everything the gateway needs and does not make itself. */
export interface GatewayDeps {
  channels: ReadonlyMap<string, Channel>;
  store: Pick<Store, 'inbox' | 'conversations' | 'pairing' | 'background'>;
  access: Access;
  agent: Agent;
  outbox: Outbox;
  approvals: ChatApprovals;
  settings: GatewaySettings;
  sessionTools(id: SessionId, title: string, sink: ChatSink): SessionTools;
  /** The model of a session: as configured, or as chosen in the chat. Rejects with what to do when there is none. */
  model(choice: string | undefined): Promise<Model>;
  /** Takes a message that failed too often out of the queue. */
  setAside(found: Omit<SetAside, 'at'>): Promise<void>;
  /** The status of the gateway, for `/status`: one line each. `alerts` come before everything else. */
  status(): Promise<{ alerts: readonly string[]; lines: readonly string[] }>;
  log(line: string): void;
}

/** The tools of a session, at its sandbox, which opens when it is first needed. */
export interface SessionTools {
  readonly tools: readonly Tool[];
  /** Nothing of it is open: made anew, it would be the same. */
  readonly isAtRest: boolean;
  call(
    name: string,
    input: unknown,
    options: { run: string; origin: CallOrigin; signal: AbortSignal; progress: (text: string) => void },
  ): Promise<ToolResult>;
  /** The model no longer has what results of calls have told it, so the next result tells it again. */
  forgetTold(): void;
  /** Puts a file a person sent where tools find it, for reading only. Resolves with its path inside. */
  put(name: string, data: Uint8Array): Promise<string>;
  /** Facts about the sandbox that are known without opening it. */
  facts(): Promise<TurnFacts['sandbox']>;
  /** Listens again to background processes that an earlier program started, and reports those that have ended. */
  follow(processes: readonly WatchedProcess[]): Promise<void>;
  /** As far as it is known without asking the sandbox. */
  status(): ToolsStatus;
}

export interface ToolsStatus {
  /** undefined when none is open. */
  sandbox: { name: string; backend: string; image: string | undefined; closesInMs: number | undefined } | undefined;
  /** The oldest first. */
  running: readonly RunningWork[];
}

/** A call, or a process that a call left in the background. */
export interface RunningWork {
  tool: string;
  /** The command, the code or the path, without secrets. */
  text: string;
  /** When it began to run, or to wait. */
  since: Date;
  isBackground: boolean;
  /** undefined while it runs. */
  waitsFor: Wait | undefined;
  /** The durable name of the call, where it has one. */
  run: string | undefined;
}

/** How the tools of a session reach its chat. */
export interface ChatSink {
  /** Resolves with whether it was sent by now, or waits for its platform. Rejects when the platform does not take it. */
  file(file: OutgoingFile, caption: string | undefined, signal: AbortSignal): Promise<'sent' | 'waiting'>;
  /** The largest file that the chat takes; 0 when it takes none. */
  maxFileBytes(): number;
  /** News about the sandbox that people should know. */
  notice(text: string): void;
  /** News about a background process. `survives`: its sandbox outlives this program. Resolves when it is stored; never rejects. */
  background(event: BackgroundEvent, survives: boolean): Promise<void>;
}
