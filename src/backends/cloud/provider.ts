import type { SandboxSpec } from '../../core/sandbox.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import type { Pulse } from '../../shell/streams/tether.ts';

/** What becomes of a sandbox at a provider. */
export type CloudState =
  /** It runs, or is about to. */
  | 'running'
  /** No process is left; its files are, and `resume` brings it back. */
  | 'stopped'
  /** Nothing of it is left. */
  | 'gone';

/** What a provider is asked for. */
export interface CloudWish {
  spec: SandboxSpec;
  /** Whose it is and what it was made from. At most five; harmless as labels, tags or parts of names. */
  labels: Readonly<Record<string, string>>;
}

export interface CloudProgress {
  progress(text: string): void;
  signal: AbortSignal | undefined;
}

export interface CloudListing {
  reference: string;
  labels: Readonly<Record<string, string>>;
  state: Exclude<CloudState, 'gone'>;
  createdAt: Date;
}

/**
 * A company that runs sandboxes on its own machines, for money. Every call ends in bounded time, and rejects with a `HermeticError` that says in words
 * what the provider refused. Security: every sandbox ends by the provider's own clock when no program has it open, so that a crash leaves no bill.
 */
export interface CloudProvider {
  /** Absolute paths inside, which exist when a sandbox runs. */
  readonly home: string;
  readonly workspace: string;
  /** Who is asked, and as whom: one cheap call that fails without valid credentials. */
  account(): Promise<string>;
  /** Whose sandboxes are seen with the credentials there are, in words: equal for two that see the same ones. */
  owner(): Promise<string>;
  /**
   * Makes a sandbox and resolves with its reference when it runs: the name by which the provider knows it. Ends after `spec.idleSeconds` with no program
   * attached, at the latest. Leaves nothing behind when it throws.
   */
  create(wish: CloudWish, how: CloudProgress): Promise<string>;
  state(reference: string): Promise<CloudState>;
  /** Brings one back that is stopped. Resolves with its reference, which may be another one, when it runs. */
  resume(reference: string, wish: CloudWish, how: CloudProgress): Promise<string>;
  /** Starts commands in one that runs. */
  attach(reference: string): Attach;
  /** Ends every process and keeps the files. Resolves with the reference by which it can be brought back. */
  stop(reference: string): Promise<string>;
  /** Ends it and removes its files. Does nothing when they are gone. */
  remove(reference: string): Promise<void>;
  /** Those with these labels that are not gone. */
  list(labels: Readonly<Record<string, string>>): Promise<CloudListing[]>;
  /** Where the input of a command does not end when this program dies: how a sandbox is told that it lives. */
  readonly pulse?: Pulse;
  /** Moves the end of one that is open further away. undefined where an attached stream does that. */
  readonly renewal?: { everyMs: number; renew(reference: string): Promise<void> } | undefined;
  /**
   * Where files would go with a sandbox that its provider ends: saves them while it runs. Resolves with a reference from which `resume` makes it again.
   */
  readonly checkpoints?:
    | { everyMs: number; save(reference: string): Promise<string>; remove(reference: string): Promise<void> }
    | undefined;
}
