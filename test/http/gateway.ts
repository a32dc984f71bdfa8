import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { webSecrets } from '../../src/app/web-secrets.ts';
import { WebChannel } from '../../src/channels/web/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Incoming } from '../../src/core/channel.ts';
import type { Store } from '../../src/core/store.ts';
import type { HealthView, HttpLimits, StatusView } from '../../src/http/parts.ts';
import { serveWeb, type WebServer, type WebServerOptions } from '../../src/http/server.ts';
import { openStore } from '../../src/stores/index.ts';

export const token = 'a-token-of-thirty-two-characters-or-more';
const owner = { id: 'owner', name: 'Owner' };
const builtPages = join(dirname(dirname(import.meta.dirname)), 'dist-web');

export interface GatewayOptions {
  home?: string;
  port?: number;
  pages?: string;
  limits?: Partial<HttpLimits>;
  server?: Partial<WebServerOptions>;
  /** Of the process, in which variables beat those of its home. */
  environment?: Record<string, string>;
  /** Why its sessions do not use secrets. */
  obstacle?: string;
  /** What becomes of what people send. */
  handle?: (gateway: TestGateway, incoming: Incoming) => Promise<void>;
}

const status: StatusView = {
  summary: { label: 'Sandbox', value: 'bubblewrap · proven', tone: 'good' },
  where: 'Everything runs in this session’s own sandbox.',
  sections: [
    {
      title: 'Sandbox',
      lines: [
        { label: 'Backend', value: 'bubblewrap' },
        { label: 'Image', value: 'none' },
        { label: 'Proof', value: 'held, 2 minutes ago', tone: 'good' },
      ],
    },
    {
      title: 'Approvals',
      lines: [
        { label: 'Mode', value: 'ask' },
        { label: 'Waiting', value: '1', tone: 'warning' },
      ],
    },
    {
      title: 'Channels',
      lines: [
        { label: 'web', value: 'up', tone: 'good' },
        { label: 'telegram', value: 'down: the token is wrong', tone: 'bad' },
      ],
    },
  ],
};

const well: HealthView = { ok: true, reasons: [], down: [] };

/** The web channel and the server as a gateway has them, with a handler in place of everything else. */
export class TestGateway {
  readonly home: string;
  readonly store: Store;
  readonly channel: WebChannel;
  readonly accepted: Incoming[] = [];
  readonly stopped: string[] = [];
  readonly sentences: string[] = [];
  /** As a test says. */
  health: Record<'live' | 'ready', HealthView> = { live: well, ready: well };
  #server: WebServer | undefined;

  private constructor(home: string, store: Store) {
    this.home = home;
    this.store = store;
    this.channel = new WebChannel(store.webLog);
  }

  static async start({
    home = newHome(),
    port = 0,
    pages = builtPages,
    limits,
    server,
    environment,
    obstacle,
    handle,
  }: GatewayOptions = {}): Promise<TestGateway> {
    const gateway = new TestGateway(home, await openStore(join(home, 'state.db')));
    const serving = serveWeb({
      ...{ host: '127.0.0.1', port, token, behindTls: false, publicUrl: undefined, pages },
      parts: {
        chats: gateway.channel.chatsOf(owner),
        signIns: gateway.store.signIns,
        secrets: webSecrets({
          load: () => loadConfig({ environment: { HOME: home, HERMETIC_HOME: home, ...environment } }),
          follow: async () => undefined,
          obstacle: async () => obstacle,
          record: (events) => gateway.store.audit.append(events),
          redact: (text) => text,
        }),
        status: async () => status,
        stop: async (chat) => void gateway.stopped.push(chat),
        metrics: async () => 'hermetic_up 1\n',
        liveness: async () => gateway.health.live,
        readiness: async () => gateway.health.ready,
      },
      log: (sentence) => void gateway.sentences.push(sentence),
      ...(limits ? { limits } : {}),
      ...server,
    });
    gateway.#server = await serving.catch(async (error: unknown) => {
      await gateway.store.close();
      rmSync(home, { recursive: true, force: true });
      throw error;
    });
    await gateway.channel.start(async (incoming) => {
      gateway.accepted.push(incoming);
      void handle?.(gateway, incoming);
    });
    return gateway;
  }

  get server(): WebServer {
    if (!this.#server) throw new Error('not started');
    return this.#server;
  }

  get url(): string {
    return this.server.url;
  }

  /** As a program with the token. */
  async call(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(new URL(path, this.url), { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  }

  async post(path: string, body: unknown = {}): Promise<Response> {
    return await this.call(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  }

  async newChat(): Promise<string> {
    return ((await (await this.post('/api/chats')).json()) as { id: string }).id;
  }

  async say(chat: string, text: string, id: string = randomUUID()): Promise<Response> {
    return await this.post(`/api/chats/${chat}/messages`, { id, text });
  }

  /** Leaves the home. */
  async close(): Promise<void> {
    await this.server.close();
    await this.channel.stop();
    await this.store.close();
  }

  async remove(): Promise<void> {
    await this.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

export function newHome(): string {
  return mkdtempSync(join(tmpdir(), 'hermetic-web-'));
}

export const placeOf = (chat: string) => ({ platform: 'web', workspace: undefined, chat, thread: undefined });
