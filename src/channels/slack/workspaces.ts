import { HermeticError } from '../../core/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { pause } from '../../lib/pause.ts';
import { CallError } from '../call-error.ts';
import type { Health } from '../health.ts';
import { SlackClient } from './client.ts';
import { botTokenHint, checkedToken, failureOf, isTokenRefused, reasonOf, refused, unusable } from './failures.ts';
import { isId, teamId, userId } from './ids.ts';

/** The app in one workspace. */
export interface Workspace {
  team: string;
  /** The user that the bot is there. */
  user: string;
  bot: string | undefined;
  client: SlackClient;
}

interface Token {
  /** Of how many, for people who have to find it. */
  label: string;
  client: SlackClient;
  workspace: Workspace | undefined;
  refusal: CallError | undefined;
}

const introductionMs = 10_000;
const recheckPauses = { firstMs: 5_000, maxMs: 300_000 };

/** The workspaces that there are tokens for. */
export class Workspaces {
  readonly #tokens: readonly Token[];
  #watching: { health: Health; signal: AbortSignal } | undefined;
  #rechecking = false;

  /** `given` is one token, or several with commas between them. */
  constructor(given: string, apiRoot: string | undefined) {
    const tokens = given.split(',').map((token) => checkedToken(token.trim(), botTokenHint));
    this.#tokens = [...new Set(tokens)].map((token, index, all) => {
      const made: Token = {
        label: all.length === 1 ? 'bot token' : `bot token ${index + 1} of ${all.length}`,
        client: new SlackClient({ token, apiRoot, onTokenRefused: (error) => this.#refuse(made, error) }),
        workspace: undefined,
        refusal: undefined,
      };
      return made;
    });
  }

  /** Those that are known so far. */
  get all(): readonly Workspace[] {
    return this.#tokens.flatMap(({ workspace }) => workspace ?? []);
  }

  find(team: unknown): Workspace | undefined {
    return this.all.find((one) => one.team === team);
  }

  /** For what is to be said there. */
  async of(team: string | undefined, signal?: AbortSignal): Promise<Workspace> {
    const known = this.find(team);
    if (known) return known;
    const failures = await this.#introduceAll(signal);
    const found = this.find(team);
    if (found) return found;
    // It may be the one whose token could not be asked about, or is refused for now.
    if (failures[0]) throw failureOf(failures[0], true);
    throw new HermeticError('channel/refused', 'There is no bot token for this workspace of Slack.', { hint: botTokenHint });
  }

  /**
   * Asks Slack about every token that is not known yet. Resolves with why that failed, when it may work later. Rejects when Slack refuses all
   * tokens.
   */
  async introduce(signal?: AbortSignal): Promise<CallError | undefined> {
    const failures = await this.#introduceAll(signal);
    const refusals = this.#tokens.flatMap((token) => token.refusal ?? []);
    const [first] = refusals;
    if (first && refusals.length === this.#tokens.length) throw unusable(reasonOf(first), botTokenHint);
    return failures.find((failure) => !isTokenRefused(failure));
  }

  /** Reports tokens that are refused, until Slack takes them again. */
  watch(health: Health, signal: AbortSignal): void {
    this.#watching = { health, signal };
    for (const token of this.#tokens) if (token.refusal) this.#refuse(token, token.refusal);
  }

  async #introduceAll(signal: AbortSignal | undefined): Promise<CallError[]> {
    const failures = await Promise.all(this.#tokens.map((token) => this.#introduce(token, signal)));
    signal?.throwIfAborted();
    return failures.filter((failure) => failure !== undefined);
  }

  async #introduce(token: Token, signal: AbortSignal | undefined): Promise<CallError | undefined> {
    if (token.workspace && !token.refusal) return undefined;
    try {
      const answer = await token.client.call<Record<string, unknown>>('auth.test', {}, { timeoutMs: introductionMs, signal });
      token.workspace = workspaceOf(answer, token.client);
      token.refusal = undefined;
      this.#watching?.health.report(token.label, undefined);
      return undefined;
    } catch (error) {
      if (error instanceof CallError) return error;
      if (error instanceof HermeticError) return new CallError(error.message);
      return undefined;
    }
  }

  #refuse(token: Token, error: CallError): void {
    token.refusal = error;
    this.#watching?.health.report(token.label, reasonOf(error, token.label));
    if (!this.#rechecking && this.#watching) void this.#recheck(this.#watching.signal);
  }

  /** Never rejects. */
  async #recheck(signal: AbortSignal): Promise<void> {
    this.#rechecking = true;
    for (let failures = 1; !signal.aborted && this.#tokens.some(({ refusal }) => refusal); failures += 1) {
      await pause(backoffMs(failures, recheckPauses), signal);
      if (!signal.aborted) await this.introduce(signal).catch(() => undefined);
    }
    this.#rechecking = false;
  }
}

function workspaceOf({ team_id: team, user_id: user, bot_id: bot }: Record<string, unknown>, client: SlackClient): Workspace {
  if (!isId(team, teamId) || !isId(user, userId)) throw refused('Slack does not say whose token it is.');
  return { team, user, bot: typeof bot === 'string' ? bot : undefined, client };
}
