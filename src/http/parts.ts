import type { SignIn, SignInLedger } from '../core/sign-ins.ts';
import type { WebChats } from '../core/web-log.ts';

/** One line of the status panel. */
export interface StatusLine {
  label: string;
  value: string;
  /** Left out: a plain fact. */
  tone?: 'good' | 'warning' | 'bad' | undefined;
  /** The text of a QR code to show below it. */
  qr?: string | undefined;
}

/** How things are, in the order in which they are shown. */
export interface StatusView {
  /** One line for the head of the page, such as the backend and whether it was proven. */
  summary: StatusLine;
  /** One sentence about where commands run. */
  where: string;
  /** Why nothing can be run, and what to do; undefined when something can. */
  obstacle?: string | undefined;
  sections: readonly { title: string; lines: readonly StatusLine[] }[];
}

/**
 * A secret that is bound to hosts, or one without hosts that cannot be used and can only be removed. Security: never
 * its value, nor how long that is.
 */
export interface SecretView {
  name: string;
  /** HOST or HOST:PORT. */
  hosts: readonly string[];
  /** The variable inside that holds the placeholder. */
  variable: string;
  /** Where the value is from; null when there is none. */
  value: 'environment' | '.env' | null;
  /** Why it does not work as it is. */
  problem: string | null;
}

export interface SecretsView {
  secrets: readonly SecretView[];
  /** Why sessions of chats do not use them; null when they do. */
  obstacle: string | null;
}

export interface SecretChange {
  hosts: readonly string[];
  /** Left out: the value stays as it is. */
  value?: string | undefined;
}

/** Secrets that are bound to hosts. A change that is refused rejects with a HermeticError of the code `usage/…`, `config/…` or `secret/…`, and changes nothing. */
export interface WebSecrets {
  view(): Promise<SecretsView>;
  /** Resolves with what to tell the owner when the running gateway uses the change. */
  set(name: string, change: SecretChange): Promise<string>;
  /** The value and the binding. Resolves in the same way. */
  remove(name: string): Promise<string>;
}

/** One of the browsers that are signed in. */
export interface SignInView extends SignIn {
  /** Of the browser that asks. */
  isThis: boolean;
}

/** Whether something works, for programs that watch over this one. */
export interface HealthView {
  ok: boolean;
  /** Why not. */
  reasons: readonly string[];
  /** Chat platforms that are not connected, which alone is no reason while another one is. */
  down: readonly string[];
}

/** The gateway as the page and the interface see it. All rules are in there. */
export interface HttpParts {
  chats: WebChats;
  secrets: WebSecrets;
  signIns: SignInLedger;
  status(): Promise<StatusView>;
  /** Ends the turn that runs in this chat. Resolves when that is under way. */
  stop(chat: string): Promise<void>;
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
  liveness(): Promise<HealthView>;
  readiness(): Promise<HealthView>;
}

export interface HttpLimits {
  /** Of the owner, and of each address without a valid token, each minute; as many at once. */
  requestsPerMinute: number;
  /** Wrong tokens, codes and cookies of one address, each minute; as many at once. */
  failuresPerMinute: number;
  /** Pages that follow a chat, all together. */
  maxFollowers: number;
  maxJsonBytes: number;
  maxFileBytes: number;
  /** Chats that one page follows at once. */
  maxFollowedChats: number;
  /** How often a stream of one chat that is otherwise silent shows that it is there. */
  pingEveryMs: number;
  /** The same for the stream of a browser. */
  beatEveryMs: number;
}
