import type { ConnectionAnswer, ConnectionRequest, Connections } from '../../src/core/egress.ts';
import type { Exit, SandboxSpec } from '../../src/core/sandbox.ts';
import type { TestContext } from '../backends.ts';

/** How the program `asking-program.ts` begins. */
export interface Beginning {
  kind: string;
  context: Omit<TestContext, 'egress'>;
}

export interface RuleTexts {
  allow: string[];
  deny: string[];
  notesAllowed: boolean;
}

/** To the program. */
export type AskingOrder =
  | { order: 'open'; spec: SandboxSpec }
  | { order: 'run'; run: number; sandbox: string; command: string; hasAsker: boolean }
  | { order: 'kill'; run: number }
  /** undefined: the code that asks fails. */
  | { order: 'answer'; ask: number; answer: ConnectionAnswer | undefined }
  | { order: 'rules'; rules: RuleTexts }
  /** What a check of a pass says, until it is said otherwise. */
  | { order: 'checks'; answer: ConnectionAnswer }
  | { order: 'destroy'; sandbox: string }
  | { order: 'stop-thread' };

export type Numbered = AskingOrder & { id: number };

export interface Ended {
  run: number;
  stdout: string;
  stderr: string;
  exit: Exit;
  connections: Connections;
}

/** From the program. */
export type AskingEvent =
  | { event: 'done'; id: number; failure: string | undefined }
  | { event: 'output'; run: number; text: string }
  | ({ event: 'ended' } & Ended)
  | { event: 'asked'; ask: number; run: number; request: ConnectionRequest; isCheck: boolean }
  | { event: 'left'; ask: number };
