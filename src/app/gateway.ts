import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAgent } from '../agent/loop.ts';
import { standingOf } from '../agent/standing.ts';
import { TerminalHost } from '../channels/terminal/host.ts';
import { terminalSocket } from '../channels/terminal/protocol.ts';
import { WebChannel } from '../channels/web/index.ts';
import { chatsOf } from '../channels/web/person-chats.ts';
import { LiveConfig } from '../config/live-config.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Model } from '../core/agent.ts';
import type { Channel, Outgoing, Place } from '../core/channel.ts';
import type { SessionKey } from '../core/session.ts';
import type { Deliveries, SetAside } from '../core/set-aside.ts';
import type { Store } from '../core/store.ts';
import { Access } from '../gateway/access.ts';
import { ApproverSearch } from '../gateway/approver-search.ts';
import { Gateway } from '../gateway/gateway.ts';
import { Outbox } from '../gateway/outbox.ts';
import { QuestionCards } from '../gateway/question-cards.ts';
import { sessionParts } from '../gateway/session-key.ts';
import { setAside } from '../gateway/set-aside.ts';
import type { QuestionDesk, Surroundings } from '../gateway/work.ts';
import { serveWeb, type WebServer } from '../http/server.ts';
import { tokenIn } from '../http/token.ts';
import { errorText } from '../lib/error-text.ts';
import { IdleMemory } from '../lib/idle-memory.ts';
import { listenForOwner } from '../lib/owner-socket.ts';
import { openModel, settingsFor } from '../models/index.ts';
import type { App } from './app.ts';
import { owner, platformChannels, platformRules } from './channels.ts';
import { questionDesk } from './chat-approvals.ts';
import { ChatWork } from './chat-session.ts';
import { applyRetention } from './retention.ts';
import { isContained, SessionPeers } from './session-peers.ts';
import { gatewayStatus, statusLines, statusView } from './status/gateway-status.ts';
import { gatewayMetrics } from './status/metrics.ts';

const agentName = 'Hermetic';
const mostSteps = 60;
const dayMs = 24 * 60 * 60 * 1000;
const restEveryMs = 5000;
/** What was dealt with is remembered for as long as a platform might deliver it again, and `/retry` might ask for it. */
const remembranceMs = 30 * dayMs;
const pages = fileURLToPath(new URL('../../dist-web/', import.meta.url));

export interface ProgramOptions {
  app: App;
  /** Besides those that are configured. */
  channels?: readonly Channel[];
  /** Whether to serve the page and connect to platforms. */
  isPublic: boolean;
  log(line: string): void;
  /** Loads the configuration as it is written now. */
  reload(): LoadedConfig;
}

/** Everything that runs while the gateway does. */
export class GatewayProgram {
  readonly app: App;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly gateway: Gateway;
  readonly #outbox: Outbox;
  readonly #cards: QuestionCards;
  readonly #options: ProgramOptions;
  readonly #page: WebChannel | undefined;
  /** Where `hermetic chat` joins. */
  readonly #terminals: TerminalHost | undefined;
  readonly #store: Store;
  readonly #peers: SessionPeers;
  readonly config: LiveConfig;
  /** What has begun; ended in the opposite order, whatever fails meanwhile. */
  readonly #begun = new AsyncDisposableStack();
  #retaining: Promise<void> = Promise.resolve();
  #web: WebServer | undefined;

  static async create(options: ProgramOptions): Promise<GatewayProgram> {
    return new GatewayProgram(options, await options.app.store());
  }

  private constructor(options: ProgramOptions, store: Store) {
    const { app, log } = options;
    this.app = app;
    this.#options = options;
    this.#store = store;
    this.#peers = new SessionPeers({ home: app.loaded.home, isContained: () => isContained(app, app.settings('messaging').backend) });
    this.#begun.defer(() => app.close());
    const { loaded } = app;
    this.#page = options.isPublic && loaded.config.web.enabled ? new WebChannel(store.webLog) : undefined;
    this.#terminals = options.isPublic ? this.#terminalHost() : undefined;
    const own = [...(options.channels ?? []), ...[this.#page, this.#terminals].filter((channel) => channel !== undefined)];
    const all = options.isPublic ? [...own, ...platformChannels(loaded, log, (kind) => this.#deliveries(kind))] : own;
    this.channels = new Map(all.map((channel) => [channel.kind, channel]));
    this.#outbox = new Outbox({
      ledger: store.outbox,
      channels: this.channels,
      onDropped: ({ place }, failure) => log(`a message to ${place.platform} was dropped: ${failure}`),
      onTrouble: (error) => log(`messages wait: ${errorText(error)}`),
    });
    this.config = new LiveConfig({ running: loaded, load: options.reload, apply: (next) => app.apply(next), log });
    const { gateway } = loaded.config;
    const rules = async (platform: string) => {
      // Security: a person who was taken off a list is refused at the next message.
      await this.config.fresh();
      return platformRules(app.loaded.config, platform, this.channels.get(platform));
    };
    const questions = questionDesk(app, store);
    const access = new Access(rules, store.pairing);
    const search = new ApproverSearch({ approvers: questions.approvers, access, people: store.people, channels: this.channels });
    this.#cards = new QuestionCards({ ledger: store.cards, outbox: this.#outbox, questions, search, channels: this.channels });
    this.gateway = new Gateway({
      channels: this.channels,
      inbox: store.inbox,
      setAside: (found) => this.#setAside(found),
      conversations: store.conversations,
      pairing: store.pairing,
      access,
      agent: createAgent(),
      agentName,
      outbox: this.#outbox,
      cards: this.#cards,
      standingOf,
      surroundings: this.#surroundings(questions),
      background: store.background,
      get backgroundNotify() {
        return app.loaded.config.gateway.background_notify;
      },
      get busyMode() {
        return app.loaded.config.gateway.busy_mode;
      },
      get reset() {
        const { session_reset: when, session_idle_minutes: minutes } = app.loaded.config.gateway;
        return { when, idleMs: minutes * 60_000 };
      },
      sharing: { groups: gateway.group_sessions, threads: gateway.thread_sessions },
      mostSteps,
    });
  }

  #deliveries(kind: string): Deliveries {
    return {
      trying: (ids, open) => this.#store.setAside.trying(kind, ids, open),
      setAside: (delivery) => this.#setAside({ ...delivery, source: kind, session: [] }),
    };
  }

  async #setAside(found: Omit<SetAside, 'at'>): Promise<void> {
    const { app, log } = this.#options;
    const { setAside: ledger, audit } = this.#store;
    await setAside({ ledger, audit, redact: app.redact, log }, found);
  }

  #surroundings(questions: QuestionDesk): Surroundings {
    const { app, log } = this.#options;
    const model = async (choice?: string): Promise<Model> => {
      const { config, environment } = app.loaded;
      return await openModel(settingsFor(config.model, choice), environment);
    };
    return {
      work: (key, session, outlet) => {
        // Whoever is alone with the gateway reads its log.
        const heard = this.isPublic ? outlet : { ...outlet, notice: () => undefined };
        return new ChatWork(app, { key, session, outlet: heard, model: () => model(), log: (text) => log(`${session.title}: ${text}`) });
      },
      model,
      questions,
      status: async () => statusLines(await gatewayStatus(this)),
      alerts: () => this.config.alerts,
      log,
    };
  }

  /**
   * Opens the page, sweeps, takes up what was left, then listens. Resolves with the link that lets a browser in, when there is a page. What has
   * begun when it rejects is for `stop` to end.
   */
  async start(): Promise<string | undefined> {
    const { app, log } = this.#options;
    this.config.start();
    this.#begun.defer(() => this.config.stop());
    // First: without the page nothing else starts.
    await this.servePage();
    await app.sandboxes.start().catch((error: unknown) => log(`nothing was swept: ${errorText(error)}`));
    await this.#forget();
    const forgetting = setInterval(() => {
      void this.#forget();
      this.#retaining = this.#retaining.then(() => applyRetention(app, log));
    }, dayMs);
    this.#begun.defer(() => clearInterval(forgetting));
    const memory = new IdleMemory();
    const resting = setInterval(() => memory.look(this.gateway.busy === 0), restEveryMs);
    this.#begun.defer(() => clearInterval(resting));
    // Terminals go last: they are shown how their turns end.
    this.#begun.defer(() => this.#terminals?.close());
    this.#begun.defer(() => this.#outbox.stop());
    await this.#outbox.start();
    this.#begun.defer(() => this.gateway.stop());
    await this.gateway.start();
    // Beside the first messages: many files take long to remove.
    this.#retaining = applyRetention(app, log);
    this.#begun.defer(() => this.#retaining);
    await this.#takeTerminals();
    return this.#web?.newLink();
  }

  async #takeTerminals(): Promise<void> {
    const host = this.#terminals;
    if (!host) return;
    const socket = await listenForOwner(terminalSocket(this.app.loaded.home), (stream) => host.attach(stream));
    this.#begun.defer(() => socket.close());
  }

  #terminalHost(): TerminalHost {
    const keyAt = (place: Place): SessionKey => ({ ...place, user: owner.id });
    const { log } = this.#options;
    return new TerminalHost({
      ownerId: owner.id,
      isSettled: (place) => this.isSettled(keyAt(place)),
      interrupt: (place) => this.gateway.stopTurn(keyAt(place)),
      openQuestions: (place) => this.openQuestions(keyAt(place)),
      refusalOf: (ask) => this.#peers.refusalOfTerminal(ask),
      onAttached: () => void this.#outbox.look().catch((error: unknown) => log(`messages wait: ${String(error)}`)),
    });
  }

  /** Whether everything that was said in this session has its answer. */
  async isSettled(key: SessionKey): Promise<boolean> {
    const { user: _, ...place } = key;
    const { inbox, outbox } = this.#store;
    // In this order, so that nothing is missed: a message goes from the inbox to a turn, and a turn puts its answers into the outbox before it ends.
    for (const state of ['waiting', 'running'] as const) if ((await inbox.list(state, sessionParts(key))).length > 0) return false;
    return !this.gateway.isBusy(key) && (await outbox.head(place)) === undefined;
  }

  /** Questions that were shown in this session and have no answer, for a terminal that begins empty. */
  async openQuestions(key: SessionKey): Promise<{ id: string; message: Outgoing }[]> {
    const { user: _, ...place } = key;
    return await this.#cards.shownAt(place);
  }

  /** Serves the page, if there is one and it is not served yet. Until `start` has put a gateway behind it, it asks for patience. */
  async servePage(): Promise<void> {
    if (this.#page && !this.#web) await this.#serve(this.#page);
  }

  async #serve(page: WebChannel): Promise<void> {
    const { app, log } = this.#options;
    const { web } = app.loaded.config;
    const server = await serveWeb({
      host: web.host,
      port: web.port,
      behindTls: web.behind_tls,
      publicUrl: web.public_url,
      token: app.loaded.environment[web.token_env] || tokenIn(join(app.loaded.home, 'web-token')),
      pages,
      log,
      refusalOf: (socket) => this.#peers.refusalOfConnection('The page', socket),
      parts: {
        chats: chatsOf(page, (await app.store()).webLog, owner),
        status: async () => statusView(await gatewayStatus(this)),
        stop: async (chat) =>
          void (await this.gateway.stopTurn({ platform: page.kind, workspace: undefined, chat, thread: undefined, user: owner.id })),
        metrics: () => gatewayMetrics(this),
      },
    });
    this.#begun.defer(() => server.close());
    this.#web = server;
  }

  get isPublic(): boolean {
    return this.#options.isPublic;
  }

  /** As it is configured now; undefined when there is none. */
  get modelName(): string | undefined {
    const { provider, model } = this.app.loaded.config.model;
    return provider && model ? `${provider}/${model}` : undefined;
  }

  get url(): string | undefined {
    return this.#web?.url;
  }

  /** So that a gateway that runs for years does not grow. */
  async #forget(): Promise<void> {
    const before = new Date(Date.now() - remembranceMs);
    try {
      const { inbox, outbox, setAside: aside } = await this.app.store();
      await inbox.prune(before);
      await aside.prune(before);
      await outbox.prune(before);
    } catch (error) {
      this.#options.log(`nothing was forgotten: ${errorText(error)}`);
    }
  }

  /** Ends what has begun, also when that is not everything. */
  async stop(): Promise<void> {
    await this.#begun.disposeAsync();
  }
}
