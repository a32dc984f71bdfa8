import { createAgent } from '../agent/loop.ts';
import type { Questions } from '../approval/questions.ts';
import { TerminalHost } from '../channels/terminal/host.ts';
import { terminalSocket } from '../channels/terminal/protocol.ts';
import { WebChannel } from '../channels/web/index.ts';
import { LiveConfig } from '../config/live-config.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Model } from '../core/agent.ts';
import type { Channel, Place } from '../core/channel.ts';
import { notesOf } from '../core/channel-notes.ts';
import { type SessionId, sessionId } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import { Access } from '../gateway/access.ts';
import type { GatewaySettings, SessionTools } from '../gateway/deps.ts';
import { Gateway } from '../gateway/gateway.ts';
import { Outbox } from '../gateway/outbox/outbox.ts';
import { ApproverSearch } from '../gateway/questions/approver-search.ts';
import { ChatApprovals } from '../gateway/questions/chat-approvals.ts';
import { deliveriesOf, setAside } from '../gateway/sessions/set-aside.ts';
import type { WebServer } from '../http/server.ts';
import { errorText } from '../lib/error-text.ts';
import { collectSooner } from '../lib/garbage.ts';
import { IdleMemory } from '../lib/idle-memory.ts';
import { listenForOwner } from '../lib/owner-socket.ts';
import { openModel, settingsFor } from '../models/index.ts';
import type { App } from './app.ts';
import { BackendWatch, type Found, lookAgainMs } from './backend-watch.ts';
import { owner, platformChannels, platformRules } from './channels.ts';
import { ChatTools } from './chat-tools.ts';
import { forgetOld } from './retention.ts';
import { isContained, SessionPeers } from './session-peers.ts';
import { gatewayStatus, statusLines } from './status/gateway-status.ts';
import { servePage } from './web-page.ts';

const maxSteps = 60;
const dayMs = 24 * 60 * 60 * 1000;
const restEveryMs = 5000;

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

/** Everything that runs while the gateway does: makes the parts, starts them in order and ends them in the opposite order. */
export class GatewayProgram {
  readonly app: App;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly gateway: Gateway;
  readonly approvals: ChatApprovals;
  readonly config: LiveConfig;
  /** Loads the configuration as it is written now. Throws when there is a mistake. */
  readonly reload: () => LoadedConfig;
  readonly isPublic: boolean;
  readonly #log: (line: string) => void;
  readonly #store: Store;
  readonly #outbox: Outbox;
  readonly #page: WebChannel | undefined;
  /** Where `hermetic chat` joins. */
  readonly #terminals: TerminalHost | undefined;
  readonly #peers: SessionPeers;
  readonly #started = new AsyncDisposableStack();
  #isRecovered = false;
  #web: WebServer | undefined;

  static async create(options: ProgramOptions): Promise<GatewayProgram> {
    const { app } = options;
    app.traceTo(options.log);
    return new GatewayProgram(options, await app.store(), await app.approvals.questions());
  }

  private constructor({ app, isPublic, channels: own = [], log, reload }: ProgramOptions, store: Store, questions: Questions) {
    const { loaded } = app;
    this.app = app;
    this.isPublic = isPublic;
    this.reload = reload;
    this.#log = log;
    this.#store = store;
    this.#started.defer(() => app.close());
    this.#peers = new SessionPeers({ home: loaded.home, isContained: () => isContained(app, app.settings('messaging').backend) });
    this.#page = isPublic && loaded.config.web.enabled ? new WebChannel(store.webLog) : undefined;
    this.#terminals = isPublic ? this.#terminalHost() : undefined;
    const aside = { ledger: store.setAside, audit: store.audit, redact: (text: string) => app.redact(text), log };
    const platforms = isPublic
      ? platformChannels(loaded, log, (kind) => ({ deliveries: deliveriesOf(aside, kind), notes: notesOf(store.channelNotes, kind) }))
      : [];
    const channels = [...own, this.#page, this.#terminals, ...platforms].filter((channel) => channel !== undefined);
    this.channels = new Map(channels.map((channel) => [channel.kind, channel]));
    this.config = new LiveConfig({
      running: loaded,
      load: reload,
      apply: (next, changed) => {
        app.apply(next);
        app.approvals.noteConfig({ changed }, 'in force');
      },
      refused: (problem) => app.approvals.noteConfig({ problem: app.redact(problem) }, 'refused'),
      log,
    });
    this.#outbox = new Outbox({
      ledger: store.outbox,
      channels: this.channels,
      onDropped: ({ place }, failure) => log(`a message to ${place.platform} was dropped: ${failure}`),
      onTrouble: (error) => log(`messages wait: ${errorText(error)}`),
    });
    const access = new Access(async (platform) => {
      // Security: a person who was taken off a list is refused at the next message.
      await this.config.fresh();
      return platformRules(app.loaded.config, platform, this.channels.get(platform));
    }, store.pairing);
    const approvers = (): readonly string[] => app.loaded.config.approvals.approvers;
    const shared = { channels: this.channels, approvers, outbox: this.#outbox };
    const search = new ApproverSearch({ ...shared, access, people: store.people });
    this.approvals = new ChatApprovals({ ...shared, store, questions, search });
    const model = (choice?: string): Promise<Model> => openModel(settingsFor(app.loaded.config.model, choice), app.loaded.environment);
    this.gateway = new Gateway({
      channels: this.channels,
      store,
      access,
      agent: createAgent(),
      outbox: this.#outbox,
      approvals: this.approvals,
      settings: liveSettings(app),
      sessionTools: (id, title, sink): SessionTools => {
        // A person alone with the gateway reads its log instead.
        const chat = isPublic ? sink : { ...sink, notice: () => undefined };
        return new ChatTools(app, { id, title, sink: chat, model, log: (text) => log(`${title}: ${text}`) });
      },
      model,
      setAside: (found) => setAside(aside, found),
      status: async () => {
        const status = await gatewayStatus(this);
        return { alerts: [...this.config.alerts, ...(status.obstacle ? [status.obstacle] : [])], lines: statusLines(status) };
      },
      log,
    });
  }

  /**
   * Opens the page, sweeps, resumes what was left, then listens. Resolves with the link that lets a browser in, when there is a page. When it
   * rejects, `stop` ends what has started.
   */
  async start(): Promise<string | undefined> {
    if (this.isPublic) this.config.tellOfUnused();
    this.config.start();
    this.#started.defer(() => this.config.stop());
    // First: without the page nothing else starts.
    await this.servePage();
    // Before the sweep, which forgets what is gone.
    for (const sentence of await this.app.sandboxes.missingDirectories()) this.#log(`WARNING: ${sentence}`);
    const found = { works: this.app.sandboxStatus.lastKnown?.status.backend !== undefined, isSwept: true };
    await this.app.sandboxes.start().catch((error: unknown) => {
      found.isSwept = false;
      this.#log(`nothing was swept: ${errorText(error)}`);
    });
    collectSooner();
    const memory = new IdleMemory();
    this.#every(restEveryMs, () => memory.look(this.gateway.busy === 0 && !this.#outbox.isHeldUp));
    // Terminals are shown how their turns end, so they end after the gateway.
    this.#started.defer(() => this.#terminals?.close());
    this.#started.defer(() => this.#outbox.stop());
    await this.#outbox.start();
    this.#started.defer(() => this.gateway.stop());
    await this.gateway.start();
    await this.#takeTerminals();
    this.#isRecovered = true;
    this.#watchBackend(found);
    // Beside the first messages: much that is old takes long to remove.
    this.#forgetOld();
    return this.#web?.newLink();
  }

  /**
   * Serves the page, if there is one and it is not served yet. Until `start` has put a gateway behind it, it says that
   * the gateway is starting.
   */
  async servePage(): Promise<void> {
    if (!this.#page || this.#web) return;
    const server = await servePage(this, this.#page, this.#peers, this.#log);
    this.#started.defer(() => server.close());
    this.#web = server;
  }

  /** Ends everything that has started. */
  async stop(): Promise<void> {
    await this.#started.disposeAsync();
  }

  /** As it is configured now; undefined when there is none. */
  get modelName(): string | undefined {
    const { provider, model } = this.app.loaded.config.model;
    return provider && model ? `${provider}/${model}` : undefined;
  }

  /** Whether everything has started, and what was left by an earlier program was taken up. */
  get isRecovered(): boolean {
    return this.#isRecovered;
  }

  get url(): string | undefined {
    return this.#web?.url;
  }

  #forgetOld(): void {
    const stopping = new AbortController();
    const remove = (): Promise<void> => forgetOld(this.app, this.#store, this.#log, stopping.signal);
    let removing = remove();
    this.#started.defer(async () => {
      stopping.abort();
      await removing;
    });
    this.#every(dayMs, () => {
      removing = removing.then(remove);
    });
  }

  #watchBackend(found: Found): void {
    const watch = new BackendWatch(this.app, found, this.#log);
    let looking: Promise<void> | undefined;
    this.#started.defer(() => looking);
    // A look may take longer than the time between two.
    this.#every(lookAgainMs, () => {
      looking ??= watch.look().finally(() => {
        looking = undefined;
      });
    });
  }

  #every(ms: number, task: () => void): void {
    const timer = setInterval(task, ms);
    this.#started.defer(() => clearInterval(timer));
  }

  #terminalHost(): TerminalHost {
    const idAt = (place: Place): SessionId => sessionId({ ...place, user: owner.id });
    return new TerminalHost({
      ownerId: owner.id,
      isSettled: (place) => this.gateway.isSettled(idAt(place)),
      interrupt: (place) => this.gateway.stopTurn(idAt(place)),
      openQuestions: (place) => this.approvals.shownAt(place),
      refusalOf: (ask) => this.#peers.refusalOfTerminal(ask),
      onAttached: () => void this.#outbox.look().catch((error: unknown) => this.#log(`messages wait: ${errorText(error)}`)),
    });
  }

  async #takeTerminals(): Promise<void> {
    const host = this.#terminals;
    if (!host) return;
    const socket = await listenForOwner(terminalSocket(this.app.loaded.home), (stream) => host.attach(stream));
    this.#started.defer(() => socket.close());
  }
}

/** Read from the configuration whenever they are needed; sharing needs a restart. */
function liveSettings(app: App): GatewaySettings {
  const { group_sessions: groups, thread_sessions: threads } = app.loaded.config.gateway;
  return {
    agentName: 'Hermetic',
    maxSteps,
    sharing: { groups, threads },
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
  };
}
