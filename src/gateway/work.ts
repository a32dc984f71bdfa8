import type { Model, Standing, TurnFacts } from '../core/agent.ts';
import type { Answer, CallOrigin, Question } from '../core/approval.ts';
import type { BackgroundEvent, WatchedProcess } from '../core/background.ts';
import type { OutgoingFile } from '../core/channel.ts';
import type { SessionKey } from '../core/session.ts';
import type { Yolo } from '../core/store.ts';
import type { Tool, ToolResult } from '../core/tool.ts';

/** What a session can do: its tools at its sandbox, which opens when it is first needed. */
export interface Work {
  readonly tools: readonly Tool[];
  /** Nothing of it is open: made anew, it would be the same. */
  readonly isAtRest: boolean;
  call(
    name: string,
    input: unknown,
    options: { run: string; origin: CallOrigin; signal: AbortSignal; progress: (text: string) => void },
  ): Promise<ToolResult>;
  /** Puts a file somebody sent where tools find it, for reading only. Resolves with its path inside. */
  put(name: string, data: Uint8Array): Promise<string>;
  /** What is known of the sandbox without opening it. */
  facts(): Promise<TurnFacts['sandbox']>;
  /** Listens again to background processes that an earlier program started: what has ended is told. */
  follow(processes: readonly WatchedProcess[]): Promise<void>;
  /** What it does now, as far as is known without asking the sandbox. */
  status(): WorkStatus;
}

export interface WorkStatus {
  /** undefined when none is open. */
  sandbox: SandboxNow | undefined;
  /** The oldest first. */
  running: readonly RunningCommand[];
}

interface SandboxNow {
  name: string;
  backend: string;
  image: string | undefined;
  /** Until it is closed unless it is used; undefined while something runs in it. */
  closesInMs: number | undefined;
}

interface RunningCommand {
  tool: string;
  /** The command, the code or the path, without secrets. */
  text: string;
  since: Date;
  isBackground: boolean;
}

/** How work reaches people. */
export interface Outlet {
  /** What a tool sends. */
  file(file: OutgoingFile, caption: string | undefined): Promise<void>;
  /** What happens to the sandbox that they should know. */
  notice(text: string): void;
  /** What happens to a background process. `survives`: its sandbox outlives this program. Resolves when it is stored; never rejects. */
  background(event: BackgroundEvent, survives: boolean): Promise<void>;
}

/** Everything the gateway needs and does not make itself. */
export interface Surroundings {
  work(key: SessionKey, session: { parts: readonly string[]; title: string }, outlet: Outlet): Work;
  /** The model of a session: as configured, or as chosen in the chat. Rejects with what to do when there is none. */
  model(choice: string | undefined): Promise<Model>;
  questions: QuestionDesk;
  /** What is true of the whole program, for `/status`: one line each. */
  status(): Promise<string[]>;
  /** What has to come first in a status, as it was when `status` last resolved. */
  alerts?(): readonly string[];
  log(line: string): void;
}

export type StandingOf = (messages: readonly unknown[]) => Standing;

interface OpenQuestion {
  id: string;
  code: string;
  session: string;
  /** Who asked for it. */
  person: string | undefined;
  text: string;
}

/** What people's answers go to. */
export interface QuestionDesk {
  /** All of what a person answers for, in words. */
  text(question: Question): string;
  /** How it ended, in words; undefined while it is open. One that is overdue ends by this. */
  outcome(id: string): Promise<string | undefined>;
  /** Resolves with what to tell whoever answered, and with the id of the question when this has settled it. */
  answer(
    idOrCode: string,
    answer: Answer,
    answerer: { person: string; isAdmin: boolean; from: string },
  ): Promise<{ say: string; settled: string | undefined }>;
  open(parts: readonly string[]): Promise<OpenQuestion[]>;
  /** Those that this person may answer, in all sessions. */
  answerable(answerer: { person: string; isAdmin: boolean }): Promise<OpenQuestion[]>;
  /** `approvals.approvers`. */
  approvers(): readonly string[];
  /**
   * Of a run that asked before it began: `waiting` when the question is open, or when it is settled and the run does not know yet, and
   * `withdrawn` when it was taken back. undefined when it asked nothing, or may have begun.
   */
  notBegun(parts: readonly string[], run: string): Promise<'waiting' | 'withdrawn' | undefined>;
  withdraw(parts: readonly string[], why: string): Promise<void>;
  /** Who has switched questions off in this session for themselves. */
  yolo(parts: readonly string[]): Promise<Yolo[]>;
  /** For this person; `off` is for everybody in the session. */
  setYolo(parts: readonly string[], by: string, on: boolean): Promise<void>;
  /** Ends grants and whatever else was good for this conversation only. */
  endSession(parts: readonly string[], by: string): Promise<void>;
}
