import type { BrowserContext, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { until } from '../until.ts';
import { say, untilSaid } from './chat.ts';
import { describeInChromium } from './chromium.ts';

/** The streams of events that are open in a browser, by the tab that opened them. */
class Streams {
  readonly #open = new Map<object, Page>();

  constructor(context: BrowserContext) {
    context.on('request', (request) => {
      if (/\/events\b/.test(request.url())) this.#open.set(request, request.frame().page());
    });
    for (const end of ['requestfailed', 'requestfinished'] as const)
      context.on(end as 'requestfailed', (request) => void this.#open.delete(request));
  }

  get holders(): Page[] {
    return [...this.#open.values()].filter((page) => !page.isClosed());
  }

  /** Resolves with the one tab that has the one stream. */
  async holder(): Promise<Page> {
    await until('one tab holds the stream', () => this.holders.length === 1);
    return this.holders[0] as Page;
  }
}

const answered = (text: string): string[] => [text, `You said: ${text}`];

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await page.getByLabel('Message', { exact: true }).waitFor();
  return page;
}

/** As if the tab were behind another one. */
async function show(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${!isShown} });
    document.dispatchEvent(new Event('visibilitychange'))`);
}

describeInChromium('several tabs of one browser', (rig) => {
  it('ten tabs load and follow ten sessions by one stream', async () => {
    const first = await rig.signedIn();
    const context = first.context();
    const streams = new Streams(context);
    const tabs = [first];
    for (let count = 2; count <= 10; count++) tabs.push(await open(context, rig.url));
    await Promise.all(tabs.map((tab, index) => say(tab, `tab ${index}`)));
    for (const [index, tab] of tabs.entries()) await untilSaid(tab, answered(`tab ${index}`));
    await streams.holder();
    const twin = await open(context, tabs[3]?.url() ?? '');
    await untilSaid(twin, answered('tab 3'));
    await say(twin, 'and once more');
    for (const tab of [twin, tabs[3] as Page]) await untilSaid(tab, [...answered('tab 3'), ...answered('and once more')]);
    await untilSaid(first, answered('tab 0'));
    await streams.holder();
  });

  it('when the tab with the stream closes, another one goes on, and nothing is lost or shown twice', async () => {
    const first = await rig.signedIn();
    const context = first.context();
    const streams = new Streams(context);
    await say(first, 'one');
    await untilSaid(first, answered('one'));
    const tabs = [first, await open(context, first.url()), await open(context, first.url())];
    const all = answered('one');
    while (tabs.length > 1) {
      const holder = await streams.holder();
      tabs.splice(tabs.indexOf(holder), 1);
      const [next] = tabs as [Page];
      const text = `${tabs.length} left`;
      await Promise.all([holder.close(), say(next, text)]);
      all.push(...answered(text));
      for (const tab of tabs) await untilSaid(tab, all);
    }
    await streams.holder();
  });

  it('when the tab with the stream is frozen, another one takes it, and the frozen one catches up', async () => {
    const first = await rig.signedIn();
    const context = first.context();
    const streams = new Streams(context);
    const other = await open(context, rig.url);
    await say(first, 'one');
    await untilSaid(first, answered('one'));
    expect(await streams.holder()).toBe(first);
    await other.goto(first.url());
    await untilSaid(other, answered('one'));
    const session = await context.newCDPSession(first);
    await session.send('Debugger.enable');
    // Stops the scripts of the tab where they are, as the browser does with a tab it freezes.
    await session.send('Debugger.pause');
    await until('the other tab has a stream', () => streams.holders.includes(other));
    await say(other, 'two');
    await untilSaid(other, [...answered('one'), ...answered('two')]);
    await session.send('Debugger.resume');
    for (const tab of [first, other]) await untilSaid(tab, [...answered('one'), ...answered('two')]);
    await streams.holder();
  });

  it('a hidden tab lets go of the stream after a while, and shows what it missed when it is seen again', async () => {
    const page = await rig.signedIn({}, (one) => one.clock.install());
    const streams = new Streams(page.context());
    await say(page, 'one');
    await untilSaid(page, answered('one'));
    await show(page, false);
    await page.clock.fastForward(31_000);
    await until('the stream is closed', () => streams.holders.length === 0);
    const other = await rig.signedIn();
    await other.goto(page.url());
    await say(other, 'two');
    await untilSaid(other, [...answered('one'), ...answered('two')]);
    await show(page, true);
    await untilSaid(page, [...answered('one'), ...answered('two')]);
  });

  it('a tab that is seen takes the stream from a hidden one that cannot reach the gateway', async () => {
    const first = await rig.signedIn();
    const streams = new Streams(first.context());
    await first.reload();
    expect(await streams.holder()).toBe(first);
    const other = await open(first.context(), rig.url);
    await other.getByText('Connected').waitFor();
    await show(first, false);
    await rig.killGateway();
    await other.getByText('The gateway does not answer.').waitFor();
    await rig.startGateway();
    await other.getByText('Connected').waitFor();
    expect(await streams.holder()).toBe(other);
  });

  it('signing out in one tab signs out all of them', async () => {
    const first = await rig.signedIn();
    const other = await open(first.context(), rig.url);
    await first.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [first, other]) await tab.getByLabel('Token').waitFor();
  });

  it.each(['delete Navigator.prototype.locks', 'delete globalThis.BroadcastChannel'])(
    'each tab has its own stream where the browser cannot share one: %s',
    async (script) => {
      const first = await rig.signedIn({}, (page) => page.context().addInitScript(script));
      const streams = new Streams(first.context());
      await say(first, 'one');
      await untilSaid(first, answered('one'));
      const other = await open(first.context(), first.url());
      await say(other, 'two');
      for (const tab of [first, other]) await untilSaid(tab, [...answered('one'), ...answered('two')]);
      await first.reload();
      await until('both have a stream', () => streams.holders.length === 2);
    },
  );
});
