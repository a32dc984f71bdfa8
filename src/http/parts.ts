import type { WebChats } from '../core/web-log.ts';

/** One line of the status panel. */
export interface StatusLine {
  label: string;
  value: string;
  /** Left out: a plain fact. */
  tone?: 'good' | 'warning' | 'bad' | undefined;
}

/** How things are, in the order in which they are shown. */
export interface StatusView {
  /** One line for the head of the page, such as the backend and whether it was proven. */
  summary: StatusLine;
  /** One sentence about where commands run. */
  where: string;
  sections: readonly { title: string; lines: readonly StatusLine[] }[];
}

/** The gateway as the page and the interface see it. All rules are in there. */
export interface HttpParts {
  chats: WebChats;
  status(): Promise<StatusView>;
  /** Ends the turn that runs in this chat. Resolves when that is under way. */
  stop(chat: string): Promise<void>;
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
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
  /** How often a connection that is otherwise silent shows that it is there. */
  pingEveryMs: number;
}
