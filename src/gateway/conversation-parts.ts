import type { Agent } from '../core/agent.ts';
import type { BackgroundLedger } from '../core/background.ts';
import type { ConversationLedger, InboxLedger, PairingLedger } from '../core/conversation.ts';
import type { SetAside } from '../core/set-aside.ts';
import type { Access } from './access.ts';
import type { BackgroundNotify } from './background-reports.ts';
import type { Outbox } from './outbox.ts';
import type { QuestionCards } from './question-cards.ts';
import type { ResetSettings } from './reset.ts';
import type { StandingOf, Surroundings } from './work.ts';

type BusyMode = 'interrupt' | 'queue' | 'steer';

/** What all conversations share. */
export interface ConversationParts {
  inbox: InboxLedger;
  conversations: ConversationLedger;
  pairing: PairingLedger;
  access: Access;
  agent: Agent;
  agentName: string;
  outbox: Outbox;
  cards: QuestionCards;
  /** Where a turn stands, from what was recorded of it. */
  standingOf: StandingOf;
  surroundings: Surroundings;
  busyMode: BusyMode;
  /** Takes what failed too often out of line. */
  setAside(found: Omit<SetAside, 'at'>): Promise<void>;
  background: BackgroundLedger;
  backgroundNotify: BackgroundNotify;
  reset: ResetSettings;
  mostSteps: number;
  /** After how long people are told that a model is asked again. Default: 5 s. */
  retryNoticeMs?: number | undefined;
}
