import type { RuleId } from '../rules.ts';

/** A rule about a program and the words it is given. All that is named must hold. */
export interface CommandRule {
  rule: RuleId;
  program: RegExp;
  /** One of the first words that are no options. */
  words?: RegExp;
  /** How many of them count. */
  within?: number;
  /** One of the arguments. */
  any?: RegExp;
  /** The arguments, joined by blanks. */
  text?: RegExp;
  /** Not when the joined arguments match this. */
  unless?: RegExp;
}
