import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { token } from '../http/gateway.ts';
import { until } from '../until.ts';
import { box, say, untilSaid } from './chat.ts';
import { describeInChromium, type WebRig } from './chromium.ts';
import { openSecrets } from './secrets-panel.ts';

/** Whether anything that can be seen has the colour of what is good. */
async function isGreen(page: Page): Promise<boolean> {
  return await page.evaluate(`(() => {
    const sample = document.body.appendChild(document.createElement('i'));
    sample.style.color = 'var(--good)';
    const good = getComputedStyle(sample).color;
    sample.remove();
    return [...document.querySelectorAll('.app *')].some((one) => {
      const { color, backgroundColor } = getComputedStyle(one);
      return one.checkVisibility({ visibilityProperty: true }) && [color, backgroundColor].includes(good);
    });
  })()`);
}

const offline = (page: Page) => page.getByText('The gateway does not answer.');

/** From now on only the test moves the clock of a connected page, so that nothing comes by waiting. */
async function stopClock(page: Page): Promise<void> {
  await pauseClock(page);
  // The jump to that time was a long silence.
  await until('it shows green', () => isGreen(page));
}

async function pauseClock(page: Page): Promise<void> {
  await page.clock.pauseAt(new Date((await page.evaluate<number>('Date.now()')) + 60_000));
}

const signedIn = (rig: WebRig, options = {}): Promise<Page> => rig.signedIn(options, (page) => page.clock.install());

async function signIn(page: Page, { url }: WebRig): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await box(page).waitFor();
}

const phone = { viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true };

const views: readonly (readonly [string, object, (page: Page) => Promise<unknown>])[] = [
  ['a new session', {}, async () => undefined],
  ['a new session on a phone', phone, async () => undefined],
  [
    'a session',
    {},
    async (page) => {
      await say(page, 'tool please');
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('All 12 tests pass.').waitFor();
    },
  ],
  [
    'the status',
    {},
    async (page) => {
      await page.getByRole('button', { name: 'bubblewrap · proven' }).click();
      await page.getByRole('dialog').getByText('held, 2 minutes ago').waitFor();
    },
  ],
  ['the secrets', {}, openSecrets],
];

describeInChromium('a page whose gateway is gone', (rig) => {
  afterEach(async () => {
    rig.freezeGateway(false);
    await rig.killGateway();
    await rig.startGateway();
  });

  it.each(views)(
    '%s says within 3 s that the gateway does not answer, shows nothing green, and is back within 2 s',
    async (_, options, open) => {
      const page = await signedIn(rig, options);
      await open(page);
      await until('it shows green', () => isGreen(page));
      await stopClock(page);
      await rig.killGateway();
      await offline(page).last().waitFor();
      expect(await isGreen(page)).toBe(false);
      await page.getByText('Gateway offline').waitFor();
      await rig.startGateway();
      expect(await isGreen(page)).toBe(false);
      await page.clock.runFor(2000);
      await until('it shows green again', () => isGreen(page));
      expect(await offline(page).count()).toBe(0);
    },
  );

  it('notices within 3 s a gateway that stands still with its connections open, and when it goes on', async () => {
    const page = await signedIn(rig);
    await stopClock(page);
    rig.freezeGateway(true);
    // What the gateway had sent before arrives.
    for (let turns = 0; turns < 5; turns++) await page.evaluate('1');
    await page.clock.runFor(3000);
    await offline(page).waitFor();
    expect(await isGreen(page)).toBe(false);
    rig.freezeGateway(false);
    await page.clock.runFor(2000);
    await until('it shows green again', () => isGreen(page));
  });

  it('looks once a second whether it is back, and sends then what was typed meanwhile', async () => {
    const page = await signedIn(rig);
    await say(page, 'before');
    await untilSaid(page, ['before', 'You said: before']);
    await stopClock(page);
    let probes = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/api/ping')) probes += 1;
    });
    await rig.killGateway();
    await offline(page).waitFor();
    const first = probes;
    for (let seconds = 1; seconds <= 10; seconds++) {
      const failed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/ping'));
      await page.clock.runFor(1000);
      await failed;
    }
    expect(probes - first).toBe(10);
    await page.clock.resume();
    await say(page, 'meanwhile');
    await page.getByText('Sending…').waitFor();
    await rig.startGateway();
    await untilSaid(page, ['before', 'You said: before', 'meanwhile', 'You said: meanwhile']);
  });

  it('asks once a second, and not at once again, a gateway that answers and gives no stream', async () => {
    const page = await signedIn(rig);
    await stopClock(page);
    let streams = 0;
    await page.route('**/api/events*', (route) => {
      streams += 1;
      return route.fulfill({ status: 503, json: { error: 'Too many pages are open.' } });
    });
    await rig.killGateway();
    await offline(page).waitFor();
    await rig.startGateway();
    for (let seconds = 1; seconds <= 5; seconds++) {
      const refused = page.waitForResponse('**/api/events*');
      await page.clock.runFor(1000);
      await refused;
    }
    expect(streams).toBe(5);
    await page.unrouteAll({ behavior: 'wait' });
    await page.clock.runFor(2000);
    await until('it shows green again', () => isGreen(page));
  });

  it('keeps trying a stream that a slow network takes longer to open than a page waits for a sign', async () => {
    const page = await rig.page();
    let streams = 0;
    const { promise: isThrough, resolve: letThrough } = Promise.withResolvers<void>();
    await page.route('**/api/events*', async (route) => {
      streams += 1;
      await isThrough;
      await route.continue();
    });
    await signIn(page, rig);
    // It may be asked for anew while the page begins.
    await until('the stream is asked for', () => streams >= 1);
    await offline(page).waitFor();
    const asked = streams;
    letThrough();
    await until('it shows green', () => isGreen(page));
    expect(streams).toBe(asked);
  });

  it('keeps the typed text when the answer to a new session is cut off', async () => {
    const page = await signedIn(rig);
    await page.route('**/api/chats', async (route) => {
      if (route.request().method() === 'POST') await route.fulfill({ status: 201, contentType: 'application/json', body: '{"id":' });
      else await route.continue();
    });
    const cut = page.waitForResponse((response) => response.request().method() === 'POST');
    await say(page, 'not lost');
    await cut;
    await until('the text is back', async () => (await box(page).inputValue()) === 'not lost');
    await page.unroute('**/api/chats');
    await box(page).press('Enter');
    await untilSaid(page, ['not lost', 'You said: not lost']);
  });

  it('loads a session that was opened while the gateway was gone', async () => {
    const page = await signedIn(rig);
    await say(page, 'the first of all');
    await untilSaid(page, ['the first of all', 'You said: the first of all']);
    await page.getByRole('button', { name: 'New session' }).first().click();
    await page.getByText('What shall we do?').waitFor();
    await rig.killGateway();
    await offline(page).waitFor();
    await page.getByRole('navigation').getByRole('button', { name: 'the first of all' }).click();
    await rig.startGateway();
    await untilSaid(page, ['the first of all', 'You said: the first of all']);
  });

  it('a page that is not signed in says it too', async () => {
    const page = await rig.page();
    await page.clock.install();
    await page.goto(rig.url);
    await page.getByLabel('Token').waitFor();
    await pauseClock(page);
    await rig.killGateway();
    await page.clock.runFor(3000);
    await offline(page).waitFor();
    await rig.startGateway();
    await page.clock.runFor(2000);
    await offline(page).waitFor({ state: 'detached' });
  });

  it('a page whose sign-in has ended meanwhile asks for the token', async () => {
    const page = await signedIn(rig);
    await box(page).waitFor();
    await rig.killGateway();
    await offline(page).waitFor();
    await page.context().clearCookies();
    await rig.startGateway();
    await page.getByLabel('Token').waitFor();
  });
});
