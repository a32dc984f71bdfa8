import type { z } from 'zod';
import type { Accept, Channel, ChannelState, ChannelTraits, IncomingFile, IncomingPress, Outgoing, Place } from '../../core/channel.ts';
import { settlesWithin } from '../../lib/deadline.ts';
import { errorText } from '../../lib/error-text.ts';
import type { ChannelContext } from '../context.ts';
import type { ChannelDriver } from '../driver.ts';
import { Health } from '../health.ts';
import { maxFileBytes, maxText } from './limits.ts';
import { slackOptions } from './options.ts';

export const slack = {
  kind: 'slack',
  name: 'Slack',
  secrets: ['token_env', 'app_token_env'],
  summary: 'An app in Slack, in direct messages, channels and threads of one or more workspaces: no public address is needed.',
  options: slackOptions,
  setup: async () => (await import('./setup.ts')).setup,
  create: (context, options): Channel => new SlackChannel(context, options),
} as const satisfies ChannelDriver<typeof slackOptions>;

/** How long `start` waits to say whether it is up. */
const firstTryMs = 10_000;

type Options = z.output<typeof slackOptions>;

class SlackChannel implements Channel {
  readonly kind = 'slack';
  readonly traits: ChannelTraits = {
    isOwn: false,
    maxTextLength: maxText,
    buttons: true,
    editEveryMs: 2000,
    maxFileBytes,
    typing: false,
    sendsOncePerKey: false,
  };
  readonly #context: ChannelContext;
  readonly #options: Options;
  readonly #health: Health;
  #connection: ReturnType<typeof connect> | undefined;
  #listening: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(context: ChannelContext, options: Options) {
    this.#context = context;
    this.#options = options;
    this.#health = new Health('Slack', context.log);
  }

  get state(): ChannelState {
    return this.#health.state;
  }

  async start(accept: Accept): Promise<void> {
    if (this.#listening) return;
    const stop = new AbortController();
    const begun = this.#begin(accept, stop.signal);
    this.#listening = {
      stop,
      ended: begun.then(
        ({ ended }) => ended,
        () => undefined,
      ),
    };
    try {
      await begun;
    } catch (error) {
      stop.abort();
      this.#listening = undefined;
      this.#health.failed(errorText(error));
      throw error;
    }
  }

  async stop(): Promise<void> {
    const listening = this.#listening;
    this.#health.stopped();
    listening?.stop.abort();
    await listening?.ended;
    if (this.#listening === listening) this.#listening = undefined;
  }

  async send(place: Place, message: Outgoing, signal?: AbortSignal): Promise<string> {
    const { speaker } = await this.#connect();
    return await speaker.send(place, message, signal);
  }

  async edit(place: Place, id: string, message: Outgoing, signal?: AbortSignal): Promise<void> {
    const { speaker } = await this.#connect();
    await speaker.edit(place, id, message, signal);
  }

  async remove(place: Place, id: string, signal?: AbortSignal): Promise<void> {
    const { speaker } = await this.#connect();
    await speaker.remove(place, id, signal);
  }

  async noticed(press: IncomingPress, text?: string): Promise<void> {
    const connection = await this.#connect().catch(() => undefined);
    await connection?.speaker.noticed(press, text);
  }

  async fetchFile(file: IncomingFile, maxBytes: number): Promise<Buffer> {
    const { speaker } = await this.#connect();
    return await speaker.fetchFile(file, maxBytes);
  }

  #connect(): ReturnType<typeof connect> {
    this.#connection ??= connect(this.#context, this.#options.api_root);
    return this.#connection;
  }

  async #begin(accept: Accept, signal: AbortSignal): Promise<{ ended: Promise<void> }> {
    const { log, deliveries, notes, commands } = this.#context;
    const health = this.#health;
    health.starting();
    const { workspaces, app, introduce, keepLink, Listener, ReadMark, KnownChats } = await this.#connect();
    const firstAddress = await introduce({ workspaces, app, health }, signal);
    workspaces.watch(health, signal);
    this.#warnOfPlainIds();
    const [mark, chats] = await Promise.all([ReadMark.load(notes), KnownChats.load(notes)]);
    const conventions = {
      replyInThread: this.#options.reply_in_thread,
      commands: commands && new Set(['start', ...commands.map(({ name }) => name)]),
    };
    const listener = new Listener({ workspaces, conventions, accept, health, log, deliveries, mark, chats, signal });
    const tried = Promise.withResolvers<void>();
    const link = keepLink(
      {
        app,
        workspaces,
        health,
        firstAddress,
        onConnected: (wasDeaf) => listener.connected(wasDeaf),
        onEnvelope: (envelope) => listener.take(envelope),
        onTried: tried.resolve,
      },
      signal,
    );
    await settlesWithin({ ms: firstTryMs, signal }, tried.promise);
    return { ended: link.then(() => listener.farewell()) };
  }

  /** Such an id lets nobody in, which is hard to find out otherwise. */
  #warnOfPlainIds(): void {
    const { allowed_users: users, admins } = this.#options;
    const plain = [...users, ...admins].filter((id) => !/^[TE][A-Z0-9]+\/[UW][A-Z0-9]+$/.test(id));
    if (plain.length > 0) {
      this.#context.log(`Slack knows nobody by the ids ${JSON.stringify(plain)}: write them as TEAM/USER, as /hermetic whoami shows them.`);
    }
  }
}

/** Loads what Slack needs when it is needed. */
async function connect(context: ChannelContext, apiRoot: string | undefined) {
  const [
    { SlackClient },
    { checkedToken, appTokenHint },
    { Workspaces },
    { introduce },
    { Speaker },
    { keepLink },
    { Listener },
    { ReadMark },
    { KnownChats },
  ] = await Promise.all([
    import('./client.ts'),
    import('./failures.ts'),
    import('./workspaces.ts'),
    import('./introduction.ts'),
    import('./speaker.ts'),
    import('./link.ts'),
    import('./listener.ts'),
    import('./read-mark.ts'),
    import('./known-chats.ts'),
  ]);
  const workspaces = new Workspaces(context.secret('token_env'), apiRoot);
  const app = new SlackClient({ token: checkedToken(context.secret('app_token_env'), appTokenHint), apiRoot });
  return { workspaces, app, speaker: new Speaker(workspaces), introduce, keepLink, Listener, ReadMark, KnownChats };
}
