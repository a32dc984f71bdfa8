import type { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];
export type Style = (format: Format, text: string) => string;

/** Input of a person at a screen. */
export interface ScreenInput {
  line(text: string): void;
  /** Ctrl-C. */
  interrupt(): void;
  /** Nothing more will come. */
  end(): void;
}

/** Where a conversation is shown and typed. Callers pass only text that is safe to print. */
export interface Screen {
  /** A person sees text grow on it. False for a pipe, which only gets finished lines. */
  readonly isLive: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly style: Style;
  listen(heard: ScreenInput): void;
  /** Listens no more. What is printed afterwards still shows. */
  close(): void;
  /** Whole lines that stay. */
  print(text: string): void;
  /** The same, beside what is said: what tools do, and what else is worth knowing. */
  note(text: string): void;
  /** Lines that are shown below all others until they change, and what is before the words that are typed. */
  show(lines: readonly string[], prompt: string): void;
  /** Forgets what is typed so far. False when nothing is. */
  clearTyped(): boolean;
}
