import { setTimeout as sleep } from 'node:timers/promises';
import { HermeticError } from '../../core/errors.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { durationText } from '../../lib/duration.ts';
import { hermetic } from '../../lib/own-command.ts';
import type { SshOptions } from '../../lib/ssh/connection.ts';
import type { HostKeyRules } from '../../lib/ssh/host-keys.ts';
import { parseTarget } from '../../lib/ssh/target.ts';
import type { Attach } from '../../shell/streams/attached-command.ts';
import type { CloudListing, CloudProgress, CloudProvider, CloudState, CloudWish } from '../cloud/provider.ts';
import { refusedStatus } from '../refusal.ts';
import type { DaytonaApi } from './api.ts';
import type { Found } from './api-answers.ts';
import { createBody, home, workspace } from './create-body.ts';
import { attachThroughGateway } from './gateway.ts';
import type { DaytonaOptions } from './options.ts';
import { cloudStateOf, progressText } from './sandbox-states.ts';

const minuteMs = 60_000;
/** An image may have to be fetched and a snapshot of it made. */
const createMs = 30 * minuteMs;
/** An archive takes its time. */
const resumeMs = 60 * minuteMs;
const attachMs = 2 * minuteMs;
const endMs = 2 * minuteMs;
const orderAgainMs = 30_000;
const looks = { firstMs: 200, maxMs: 2_000 };
/** When the making of a sandbox was not answered, it may still appear. */
const appearsWithinMs = [0, 1_000, 3_000];

export interface DaytonaSettings {
  options: DaytonaOptions;
  target: string | undefined;
  hostKeys: HostKeyRules;
}

/** How long a change may take, and who hears of it. */
interface Change {
  ms: number;
  what: string;
  how?: CloudProgress;
  image?: string;
}

/** Sandboxes of Daytona. Files stay with one that is stopped. */
export class DaytonaProvider implements CloudProvider {
  readonly home = home;
  readonly workspace = workspace;
  readonly #api: DaytonaApi;
  readonly #settings: DaytonaSettings;
  readonly #attaches = new Map<string, Attach>();

  constructor(api: DaytonaApi, settings: DaytonaSettings) {
    this.#api = api;
    this.#settings = settings;
  }

  account(): Promise<string> {
    return this.#api.account();
  }

  owner(): Promise<string> {
    return this.#api.owner();
  }

  async create(wish: CloudWish, how: CloudProgress): Promise<string> {
    const { options, target } = this.#settings;
    const body = createBody(wish, options, target);
    const image = wish.spec.image ?? options.daytona_image;
    let isMade = false;
    try {
      const { id } = await this.#api.create(body, how.signal);
      isMade = true;
      await this.#until(id, { ms: createMs, what: 'start a sandbox', how, image }, isStarted);
      return id;
    } catch (error) {
      const isRefused = !isMade && (refusedStatus(error) ?? 500) < 500;
      if (!isRefused) await this.#removeFailed(body.name);
      throw error;
    }
  }

  /** One that cannot be removed now is ended by its own clock, and listed as left behind. */
  async #removeFailed(name: string): Promise<void> {
    for (const ms of appearsWithinMs) {
      await sleep(ms);
      const found = await this.#find(name).catch(() => undefined);
      if (found) return await this.remove(found.id).catch(() => undefined);
    }
  }

  async state(reference: string): Promise<CloudState> {
    const found = await this.#find(reference);
    if (!found) return 'gone';
    const state = cloudStateOf(found.phase);
    if (state === undefined) throw inDoubt(found);
    return state;
  }

  async resume(reference: string, _wish: CloudWish, how: CloudProgress): Promise<string> {
    const order = repeatable();
    await this.#until(reference, { ms: resumeMs, what: 'bring the sandbox back', how }, async (found) => {
      if (found.phase === 'stopped') await order(() => this.#api.start(found.id));
      else if (found.phase === 'broken' && found.isRecoverable) await order(() => this.#api.recover(found.id));
      else if (found.phase !== 'stopping') return isStarted(found);
      return undefined;
    });
    return reference;
  }

  attach(reference: string): Attach {
    const known = this.#attaches.get(reference);
    const attach = known ?? attachThroughGateway(() => this.#sshOptions(reference));
    this.#attaches.set(reference, attach);
    return attach;
  }

  /** Security: a new token for each connection, which is good for this sandbox and some minutes alone. */
  async #sshOptions(reference: string): Promise<SshOptions> {
    await this.#until(reference, { ms: attachMs, what: 'start the sandbox' }, isStarted);
    const { daytona_ssh_gateway: named } = this.#settings.options;
    const gateway = named === undefined ? undefined : parseTarget(named, 'token');
    return { target: await this.#api.sshAccess(reference, gateway), jumps: [], hostKeys: this.#settings.hostKeys };
  }

  async stop(reference: string): Promise<string> {
    const order = repeatable();
    await this.#untilGoneOr(reference, 'stop the sandbox', async (found) => {
      if (found.phase === 'stopped' || found.phase === 'broken') return true;
      if (found.phase === 'running') await order(() => this.#api.stop(found.id));
      return undefined;
    });
    this.#attaches.delete(reference);
    return reference;
  }

  async remove(reference: string): Promise<void> {
    const order = repeatable();
    await this.#untilGoneOr(reference, 'delete the sandbox', async (found) => {
      if (found.phase !== 'going') await order(() => this.#api.delete(found.id));
      return undefined;
    });
    this.#attaches.delete(reference);
  }

  async list(labels: Readonly<Record<string, string>>): Promise<CloudListing[]> {
    const found = await this.#api.list(labels);
    return found.flatMap(({ id, labels: own, phase, createdAt }) => {
      if (phase === 'going' || phase === 'gone') return [];
      return [{ reference: id, labels: own, state: cloudStateOf(phase) === 'running' ? 'running' : 'stopped', createdAt }];
    });
  }

  /** undefined when it is gone. */
  async #find(reference: string, signal?: AbortSignal): Promise<Found | undefined> {
    try {
      return await this.#api.get(reference, signal);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async #untilGoneOr(reference: string, what: string, step: (found: Found) => Promise<true | undefined>): Promise<void> {
    try {
      await this.#until(reference, { ms: endMs, what }, (found) => (found.phase === 'gone' ? true : step(found)));
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /** Looks at a sandbox until `step` has a result. A server that is busy or down for a moment changes nothing. */
  async #until<Result>(
    reference: string,
    { ms, what, how, image = 'the image' }: Change,
    step: (found: Found) => Result | undefined | Promise<Result | undefined>,
  ): Promise<Result> {
    const deadline = Date.now() + ms;
    let told: string | undefined;
    let trouble: HermeticError | undefined;
    for (let look = 1; ; look++) {
      how?.signal?.throwIfAborted();
      try {
        const found = await this.#api.get(reference, how?.signal);
        const text = progressText(found.state, image);
        if (text !== undefined && text !== told) how?.progress(text);
        told = text ?? told;
        const result = await step(found);
        if (result !== undefined) return result;
        trouble = undefined;
      } catch (error) {
        if (!isPassing(error)) throw error;
        trouble = error;
      }
      if (Date.now() >= deadline) throw trouble ?? tooSlow(what, ms);
      await sleep(backoffMs(look, looks), undefined, { signal: how?.signal }).catch(() => how?.signal?.throwIfAborted());
    }
  }
}

/** A call that may be made again, and is, when it was refused or shows no effect for long. */
function repeatable(): (call: () => Promise<void>) => Promise<void> {
  let nextAt = 0;
  return async (call) => {
    if (Date.now() < nextAt) return;
    await call();
    nextAt = Date.now() + orderAgainMs;
  };
}

/** true when commands can be started in it; undefined when that is to be expected. */
function isStarted(found: Found): true | undefined {
  switch (found.phase) {
    case 'running':
      return true;
    case 'coming':
    case 'doubt':
      return undefined;
    case 'failed':
      throw new HermeticError('sandbox/no-image', `Daytona could not build the image: ${found.trouble || 'it gives no reason'}.`, {
        hint: 'Correct terminal.daytona_image: an image of a registry that Daytona reaches.',
      });
    case 'broken':
      throw new HermeticError('sandbox/open-failed', `The sandbox has failed at Daytona: ${found.trouble || 'it gives no reason'}.`, {
        hint: `See it in the dashboard of Daytona. Its files may be saved there; \`${hermetic} sandbox destroy\` gives them up.`,
      });
    case 'stopping':
    case 'stopped':
    case 'going':
    case 'gone':
      throw new HermeticError('sandbox/lost', `The sandbox does not run: Daytona says that it is ${found.state}.`);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof HermeticError && error.code === 'sandbox/not-found';
}

/** Also a change that another one is in the way of. */
function isPassing(error: unknown): error is HermeticError {
  return error instanceof HermeticError && (error.code === 'backend/not-running' || error.code === 'sandbox/in-use');
}

function inDoubt({ state }: Found): HermeticError {
  return new HermeticError('backend/not-running', `Daytona does not know how the sandbox is: its state is ${state}.`, {
    hint: 'Try again later, or see it in the dashboard of Daytona.',
  });
}

function tooSlow(what: string, ms: number): HermeticError {
  return new HermeticError('backend/not-running', `Daytona did not ${what} in ${durationText(ms)}.`, {
    hint: 'Try again later, or see it in the dashboard of Daytona.',
  });
}
