import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../../src/agent/loop.ts';
import { App } from '../../src/app/app.ts';
import { ChatTools } from '../../src/app/chat-tools.ts';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Activity, Channel, ChannelTraits, IncomingFile, IncomingMessage, IncomingPress, Place } from '../../src/core/channel.ts';
import type { Store } from '../../src/core/store.ts';
import { Access, type PlatformRules } from '../../src/gateway/access.ts';
import type { GatewayDeps, GatewaySettings } from '../../src/gateway/deps.ts';
import { Gateway } from '../../src/gateway/gateway.ts';
import { Outbox } from '../../src/gateway/outbox/outbox.ts';
import { ApproverSearch } from '../../src/gateway/questions/approver-search.ts';
import { ChatApprovals } from '../../src/gateway/questions/chat-approvals.ts';
import { openModel } from '../../src/models/index.ts';
import { type ModelServer, type Script, says, startModelServer } from '../fakes/model-server.ts';
import { until } from '../until.ts';
import { FakePlatform, fakeChannel } from './fake-channel.ts';

export interface RigOptions {
  script?: Script;
  /** `none`: no model is configured. */
  model?: 'scripted' | 'none';
  environment?: Record<string, string>;
  rules?: Partial<PlatformRules>;
  traits?: Partial<ChannelTraits>;
  settings?: Partial<GatewaySettings>;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

export interface Saying extends Partial<Omit<IncomingMessage, 'from' | 'place' | 'kind'>> {
  from?: string;
  chat?: string;
  thread?: string;
  workspace?: string;
}

/** A gateway with everything real but the platform and the provider of models, which are in memory and on this machine. */
export class Rig {
  readonly home: string;
  readonly platform = new FakePlatform();
  readonly model: ModelServer;
  readonly rules: PlatformRules;
  readonly log: string[] = [];
  readonly noticed: { press: IncomingPress; text: string | undefined }[] = [];
  /** Until it resolves, the platform does not answer when a press is confirmed. */
  noticing: Promise<void> | undefined;
  readonly activities: Activity[] = [];
  /** What people have sent, by the id of the file. */
  readonly files = new Map<string, Buffer>();
  readonly #options: RigOptions;
  #running: { app: App; store: Store; outbox: Outbox; gateway: Gateway; deps: GatewayDeps; settings: Mutable<GatewaySettings> } | undefined;
  #count = 0;

  private constructor(options: RigOptions, model: ModelServer) {
    this.#options = options;
    this.model = model;
    this.home = mkdtempSync(join(tmpdir(), 'hermetic-gateway-'));
    this.rules = {
      ...{ isOwn: false, allowedUsers: ['bob', 'cleo'], allowedRoles: [], admins: ['ada'], allowAll: false, requireMention: true },
      ...options.rules,
    };
  }

  static async start(options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(options, await startModelServer(options.script ?? (() => says('Fine.'))));
    await rig.startGateway();
    return rig;
  }

  get #current() {
    if (!this.#running) throw new Error('the gateway is not running');
    return this.#running;
  }

  get app(): App {
    return this.#current.app;
  }

  get store(): Store {
    return this.#current.store;
  }

  get gateway(): Gateway {
    return this.#current.gateway;
  }

  get outbox(): Outbox {
    return this.#current.outbox;
  }

  /** Read by the gateway whenever they are needed, so a test may change them. */
  get settings(): Mutable<GatewaySettings> {
    return this.#current.settings;
  }

  get deps(): GatewayDeps {
    return this.#current.deps;
  }

  /** With the home of the one before, if there was one. */
  async startGateway(): Promise<void> {
    const { environment, settings, traits } = this.#options;
    const directory = join(this.home, '.hermetic');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const base = { PATH: process.env.PATH ?? '', HOME: this.home, HERMETIC_HOME: directory };
    const backend = environment?.TERMINAL_ENV ?? 'bubblewrap';
    const network: Record<string, string> = backend === 'local' ? {} : { TERMINAL_NETWORK: 'none' };
    const app = new App(loadConfig({ environment: { ...base, ...network, TERMINAL_ENV: backend, ...environment } }), this.home);
    const store = await app.store();
    const channels = new Map<string, Channel>([['fake', this.#channel(traits)]]);
    const trouble = (error: unknown): void => void this.log.push(String(error));
    const outbox = new Outbox({ ledger: store.outbox, channels, onTrouble: trouble, onDropped: (_, failure) => trouble(failure) });
    const provider = this.#options.model === 'none' ? {} : { provider: 'openai-compatible' as const, base_url: this.model.url };
    const model = (choice?: string) => openModel({ ...provider, model: choice ?? 'scripted' }, {});
    const access = new Access((platform) => (platform === 'fake' ? this.rules : undefined), store.pairing);
    const approvers = (): readonly string[] => app.loaded.config.approvals.approvers;
    const search = new ApproverSearch({ approvers, access, people: store.people, channels });
    const questions = await app.approvals.questions();
    const own: Mutable<GatewaySettings> = {
      busyMode: 'interrupt',
      backgroundNotify: 'turn',
      reset: { when: 'never', idleMs: 0 },
      sharing: { groups: 'per_user', threads: 'shared' },
      agentName: 'Hermetic',
      maxSteps: 20,
      ...settings,
    };
    const deps: GatewayDeps = {
      channels,
      store,
      access,
      agent: createAgent({ firstWaitMs: 1, longestWaitMs: 2, maxRetries: 1, graceMs: 1500 }),
      outbox,
      approvals: new ChatApprovals({ store, questions, outbox, search, channels, approvers }),
      settings: own,
      sessionTools: (id, title, sink) => new ChatTools(app, { id, title, sink, model, log: (text) => void this.log.push(text) }),
      model,
      setAside: (found) => store.setAside.add({ ...found, at: new Date() }),
      status: async () => ({ alerts: [], lines: ['all is well'] }),
      log: (line) => void this.log.push(line),
    };
    const gateway = new Gateway(deps);
    this.#running = { app, store, outbox, gateway, deps, settings: own };
    await outbox.start();
    await gateway.start();
  }

  /** As a program that was asked to end. */
  async stopGateway(): Promise<void> {
    const { app, outbox, gateway } = this.#current;
    this.#running = undefined;
    await gateway.stop();
    await outbox.stop();
    await app.close();
  }

  async close(): Promise<void> {
    if (this.#running) await this.stopGateway();
    await this.model.close();
    await removeTree(this.home);
  }

  /** Resolves when it is stored, which is all a platform knows. */
  async say(text: string, { from = 'ada', chat = from, thread, workspace, ...more }: Saying = {}): Promise<IncomingMessage> {
    const isDirect = more.isDirect ?? chat === from;
    const message: IncomingMessage = {
      kind: 'message',
      id: `said-${++this.#count}`,
      place: { platform: 'fake', workspace, chat, thread },
      from: { id: from, name: from[0]?.toUpperCase() + from.slice(1) },
      at: new Date(),
      text,
      isAddressed: isDirect,
      quoted: undefined,
      files: [],
      ...more,
      isDirect,
    };
    await this.gateway.accept(message);
    return message;
  }

  /** Presses the button with this label on the last message that has one. */
  async press(
    label: string,
    { from = 'ada', chat = from, data, message }: { from?: string; chat?: string; data?: string; message?: string } = {},
  ): Promise<void> {
    const card = this.platform.messages.findLast((one) => one.chat === chat && one.buttons?.length);
    const button = card?.buttons?.flat().find((one) => one.label === label);
    const place: Place = { platform: 'fake', workspace: undefined, chat, thread: undefined };
    const person = { id: from, name: from };
    await this.gateway.accept({
      ...{ kind: 'press', id: `press-${++this.#count}`, place, from: person, at: new Date(), message: message ?? card?.id ?? 'none' },
      data: data ?? button?.data ?? `no button ${label}`,
    });
  }

  file(name: string, data: string | Buffer, mimeType?: string): IncomingFile {
    const id = `file-${++this.#count}`;
    this.files.set(id, Buffer.from(data));
    return { id, name, mimeType, bytes: data.length };
  }

  texts(chat = 'ada'): string[] {
    return this.platform.texts(chat);
  }

  /** Everything shown in a chat. */
  all(chat = 'ada'): string {
    return this.texts(chat).join('\n---\n');
  }

  /** Resolves with the last message, when it fits. */
  async shows(what: string | RegExp, chat = 'ada', withinMs = 60_000): Promise<string> {
    const fits = (text: string): boolean => (typeof what === 'string' ? text.includes(what) : what.test(text));
    try {
      return await until(`${chat} is shown ${what}`, () => this.texts(chat).find(fits), { withinMs });
    } catch (error) {
      throw new Error(`${(error as Error).message}\nshown: ${this.all(chat)}\nlog: ${this.log.join('\n')}`);
    }
  }

  /** Resolves when everything that was said has been dealt with, and the platform has heard all about it. */
  async quiet(): Promise<void> {
    await until('nothing is left to do', async () => {
      const { inbox, outbox } = this.store;
      const left = [...(await inbox.list('waiting')), ...(await inbox.list('running')), ...(await outbox.places())];
      return left.length === 0 && this.gateway.busy === 0;
    });
  }

  /** What the provider was told that people said, in its last request. */
  get lastPrompt(): string {
    const messages = this.model.requests.at(-1)?.messages ?? [];
    return messages
      .filter(({ role }) => role === 'user')
      .map(({ text }) => text)
      .join('\n');
  }

  #channel(traits: Partial<ChannelTraits> = {}): Channel {
    return {
      ...fakeChannel(this.platform, { maxTextLength: 4000, maxFileBytes: 1_000_000, ...traits }),
      noticed: async (press, text) => {
        this.noticed.push({ press, text });
        await this.noticing;
      },
      activity: (_place, activity) => void this.activities.push(activity),
      fetchFile: async ({ id }) => this.files.get(id) ?? Promise.reject(new Error('the platform has lost it')),
    };
  }
}

/** The code of the last question that waits for an answer in a chat. */
export async function codeIn(rig: Rig, chat = 'ada'): Promise<string> {
  return await until('a question is shown', () => {
    const card = rig.platform.messages.findLast((one) => one.chat === chat && one.buttons?.length);
    return /May this run .*\((\w{6})\)/.exec(card?.text ?? '')?.[1];
  });
}
