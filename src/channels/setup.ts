/** A setting without which a platform cannot work. */
export interface SetupField {
  /** One of the driver's `secrets`: what is entered becomes the variable that it names. Any other is written into the configuration. */
  option: string;
  /** What to enter, and where it is found. */
  message: string;
  /** undefined when it may be right. */
  problem?(value: string): string | undefined;
}

/** What is entered. */
export interface SetupValues {
  /** By option. */
  secret(option: string): string;
  /** The section as it would be. */
  options: Readonly<Record<string, unknown>>;
}

/** How a platform is connected, for `hermetic setup`. */
export interface ChannelSetup {
  /** What to do at the platform first, a line each. */
  steps: readonly string[];
  fields: readonly SetupField[];
  /** Resolves with a sentence about who we are there. Rejects with the reason and what to do about it. */
  check(values: SetupValues): Promise<string>;
  /** What to do when the gateway runs. */
  next: string;
}
