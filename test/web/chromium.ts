import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { WebCall } from '../../src/core/web-log.ts';
import { openStore } from '../../src/stores/index.ts';
import { newHome } from '../http/gateway.ts';
import { describeUnless } from '../required.ts';
import type { Started } from './gateway-process.ts';

const executablePath = '/usr/bin/chromium';
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
];

/** A browser, and a gateway it can open. */
export class WebRig {
  readonly #home = newHome();
  readonly #pages: Page[] = [];
  readonly #problems: string[] = [];
  #browser: Browser | undefined;
  #gateway: ChildProcess | undefined;
  #port = 0;
  #link = '';

  async launch(): Promise<void> {
    this.#browser = await chromium.launch({ executablePath, args });
    await this.startGateway();
  }

  async end(): Promise<void> {
    await this.#browser?.close();
    await this.killGateway();
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** The calls of tools that are remembered of the chat with this title. */
  async calls(title: string): Promise<readonly WebCall[]> {
    const store = await openStore(join(this.#home, 'state.db'));
    try {
      const { chats } = await store.webLog.chats('owner', { limit: 100 });
      return await store.webLog.calls(chats.find((chat) => chat.title === title)?.id ?? '');
    } finally {
      await store.close();
    }
  }

  /** On the same port and with the same home as before. */
  async startGateway(): Promise<void> {
    const program = join(import.meta.dirname, 'gateway-process.ts');
    const child = spawn(process.execPath, [program, this.#home, String(this.#port)], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#gateway = child;
    for await (const line of createInterface(child.stdout)) {
      const { port, link } = JSON.parse(line) as Started;
      this.#port = port;
      this.#link ||= link;
      return;
    }
    throw new Error('the gateway did not start');
  }

  async killGateway(): Promise<void> {
    if (!this.#gateway || this.#gateway.exitCode !== null || this.#gateway.signalCode !== null) return;
    const ended = once(this.#gateway, 'exit');
    this.#gateway.kill('SIGKILL');
    await ended;
  }

  /** The gateway stands still, with its connections open, or goes on. */
  freezeGateway(isFrozen: boolean): void {
    this.#gateway?.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }

  /** Of the gateway. */
  get home(): string {
    return this.#home;
  }

  get url(): string {
    return `http://localhost:${this.#port}/`;
  }

  /** Good once. */
  get link(): string {
    return this.#link;
  }

  async page(options: BrowserContextOptions = {}): Promise<Page> {
    if (!this.#browser) throw new Error('not launched');
    const context = await this.#browser.newContext(options);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.#problems.push(error.message));
    page.on('console', (message) => {
      // A line that is cut, and a refusal, are shown to the console by the browser itself.
      if (message.type() === 'error' && !/ERR_|Failed to load resource/.test(message.text())) this.#problems.push(message.text());
    });
    this.#pages.push(page);
    return page;
  }

  /** A page that is let in, without a chat yet. `prepare`: before anything is loaded. */
  async signedIn(options: BrowserContextOptions = {}, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await this.page(options);
    await prepare?.(page);
    await page.goto(this.url);
    await page.getByLabel('Token').fill('a-token-of-thirty-two-characters-or-more');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Message', { exact: true }).waitFor();
    return page;
  }

  /** Resolves with what went wrong in the pages, which are closed. */
  async closePages(): Promise<string[]> {
    for (const page of this.#pages.splice(0)) await page.context().close();
    return this.#problems.splice(0);
  }
}

/** Skipped with the reason where there is no browser, unless HERMETIC_TEST_REQUIRE names it. */
export function describeInChromium(title: string, body: (rig: WebRig) => void): void {
  const obstacle = obstacleOf();
  if (obstacle !== undefined) console.warn(`the web page is not tested in a browser: ${obstacle}`);
  describeUnless(obstacle, ['chromium'], title, () => {
    const rig = new WebRig();
    beforeAll(() => rig.launch());
    afterAll(() => rig.end());
    afterEach(async () => expect(await rig.closePages()).toEqual([]));
    body(rig);
  });
}

function obstacleOf(): string | undefined {
  try {
    accessSync(executablePath, constants.X_OK);
    return undefined;
  } catch {
    return `there is no ${executablePath}; install the package chromium`;
  }
}
