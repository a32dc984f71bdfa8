import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { removeTree } from '../../src/backends/sandbox-directory.ts';
import { createApp } from '../../src/index.ts';
import { openStore } from '../../src/stores/index.ts';
import { bin, installedPath } from '../bin.ts';
import { type BotMessage, FakeBotApi } from '../fakes/bot-api.ts';
import { type ModelServer, type Script, says, startModelServer } from '../fakes/model-server.ts';
import { until } from '../until.ts';

export interface ProgramOptions {
  backend?: 'bubblewrap' | 'docker' | 'local';
  script?: Script;
  /** Sections of `config.yaml`, over what is there. */
  config?: Record<string, Record<string, unknown>>;
  /** Variables of its process, besides its own. */
  environment?: Readonly<Record<string, string>>;
  /** A module that its process loads first. */
  preload?: string;
  /** Makes its home what it is to be before anything is put there. */
  prepare?: (home: string) => void;
  /** Runs it, and owns its home. Default: the user of the tests. */
  user?: number;
  /** Given the ports of its servers, the words that run it in another network. */
  launcher?: (ports: readonly number[]) => Promise<readonly string[]>;
}

/** `hermetic start` as a process of its own, which can be killed at any moment and started again, between servers that stay. */
export class Program {
  readonly home = mkdtempSync(join(tmpdir(), 'hermetic-program-'));
  readonly api: FakeBotApi;
  readonly model: ModelServer;
  output = '';
  #child: ChildProcess | undefined;
  #identity: { uid?: number; gid?: number } = {};
  readonly #environment: Readonly<Record<string, string>>;
  readonly #nodeOptions: readonly string[];
  #launcher: readonly string[] = [];

  private constructor(
    api: FakeBotApi,
    model: ModelServer,
    { backend = 'bubblewrap', config = {}, environment = {}, preload, prepare, user }: ProgramOptions,
  ) {
    this.#environment = environment;
    this.#nodeOptions = preload === undefined ? [] : ['--import', preload];
    this.api = api;
    this.model = model;
    prepare?.(this.home);
    mkdirSync(this.directory, { mode: 0o700 });
    const sections: Record<string, Record<string, unknown>> = {
      telegram: { enabled: true, api_root: api.root, admins: ['1001'], allowed_users: ['1002'] },
      model: { provider: 'openai-compatible', model: 'scripted', base_url: model.url },
      terminal: backend === 'local' ? { backend } : { backend, network: 'none' },
      web: { port: 0 },
    };
    for (const [name, section] of Object.entries(config)) sections[name] = { ...sections[name], ...section };
    writeFileSync(join(this.directory, 'config.yaml'), stringify(sections));
    if (user === undefined) return;
    for (const path of ['', '.hermetic', '.hermetic/config.yaml']) chownSync(join(this.home, path), user, user);
    this.#identity = { uid: user, gid: user };
  }

  static async start(options: ProgramOptions = {}): Promise<Program> {
    const program = new Program(await FakeBotApi.start(), await startModelServer(options.script ?? (() => says('Fine.'))), options);
    const ports = [program.api.root, program.model.url].map((url) => Number(new URL(url).port));
    program.#launcher = (await options.launcher?.(ports)) ?? [];
    await program.start();
    return program;
  }

  get directory(): string {
    return join(this.home, '.hermetic');
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    this.output = '';
    const environment = {
      PATH: installedPath,
      HOME: this.home,
      HERMETIC_HOME: this.directory,
      TELEGRAM_BOT_TOKEN: this.api.token,
      ...this.#environment,
    };
    const [file = '', ...words] = [...this.#launcher, process.execPath, ...this.#nodeOptions, bin, 'start'];
    const child = spawn(file, words, {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: this.home,
      ...this.#identity,
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (this.output += data.toString()));
    await until('the gateway listens', () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${this.output}`);
      return this.link;
    });
  }

  /** Resolves with its exit code when it has ended by itself. */
  async ended(): Promise<number | null> {
    const child = this.#child;
    await until('the gateway has ended', () => child?.exitCode !== null || child.signalCode !== null);
    return child?.exitCode ?? null;
  }

  get link(): string | undefined {
    return /^Open (\S+)$/m.exec(this.output)?.[1];
  }

  /** As a power failure would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** As whoever runs it would. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async close(): Promise<void> {
    await this.kill();
    await this.api.close();
    await this.model.close();
    await removeTree(this.home);
  }

  /** The same for a program on docker, whose containers outlive it. */
  async closeWithContainers(): Promise<void> {
    await this.stop();
    const app = createApp({ environment: { PATH: process.env.PATH, HOME: this.home, HERMETIC_HOME: this.directory } });
    for (const remains of (await app.backends.get('docker')?.list()) ?? []) await remains.destroy();
    await app.close();
    await this.close();
  }

  /** What the bot shows in a chat, after every edit. */
  sent(chat = 1001): BotMessage[] {
    return this.api.world.sent.filter((one) => one.chat === chat);
  }

  texts(chat = 1001): string[] {
    return this.sent(chat).map(({ text }) => text);
  }

  async shows(what: string | RegExp, chat = 1001): Promise<BotMessage> {
    const fits = ({ text }: BotMessage): boolean => (typeof what === 'string' ? text.includes(what) : what.test(text));
    try {
      return await until(`the chat shows ${what}`, () => this.sent(chat).find(fits));
    } catch (error) {
      throw new Error(`${(error as Error).message}\nshown: ${this.texts(chat).join('\n---\n')}\nlog: ${this.output}`);
    }
  }

  /** Resolves when the program knows that everything was said: what it does not know it says again. */
  async told(): Promise<void> {
    const store = await openStore(join(this.directory, 'state.db'));
    try {
      await until('nothing is left to say', async () => (await store.outbox.places()).length === 0);
    } finally {
      await store.close();
    }
  }

  /** Resolves when the program knows that the platform did not take something. */
  async putOff(): Promise<void> {
    const store = await openStore(join(this.directory, 'state.db'));
    try {
      await until('something is to be said again', async () => {
        const heads = await Promise.all((await store.outbox.places()).map((place) => store.outbox.head(place)));
        return heads.some((entry) => entry?.state === 'waiting' && entry.attempts > 0);
      });
    } finally {
      await store.close();
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }
}
