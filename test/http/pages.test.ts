import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newHome, TestGateway } from './gateway.ts';

// A folder of this name above the page must not make its files immutable.
const pages = join(newHome(), 'assets', 'page');
let gateway: TestGateway;

beforeAll(() => {
  mkdirSync(join(pages, 'assets'), { recursive: true });
  writeFileSync(join(pages, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(pages, 'assets', 'main-4f2a.js'), `console.log(${JSON.stringify('x'.repeat(5000))})`);
});
afterEach(() => gateway.remove());
afterAll(() => rmSync(join(pages, '../..'), { recursive: true }));

const get = (path: string, headers: Record<string, string> = {}) => fetch(new URL(path, gateway.url), { headers });

describe('the built page', () => {
  it('serves the files of the start, also when the directory changes later', async () => {
    gateway = await TestGateway.start({ pages });
    const path = join(pages, 'assets', 'main-4f2a.js');
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, 'alert(1)');
    expect(await (await get('/assets/main-4f2a.js')).text()).toBe(before);
    writeFileSync(path, before);
  });

  it('serves the page with an ETag for revalidation, and hashed assets as immutable', async () => {
    gateway = await TestGateway.start({ pages });
    const index = await get('/');
    expect([index.status, index.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(index.headers.get('cache-control')).toBe('no-cache');
    const etag = index.headers.get('etag') ?? '';
    expect((await get('/', { 'if-none-match': etag })).status).toBe(304);
    expect((await get('/', { 'if-none-match': `"other", W/${etag}` })).status).toBe(304);
    expect((await get('/', { 'if-none-match': '"other"' })).status).toBe(200);
    const script = await get('/assets/main-4f2a.js');
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect([script.headers.get('content-encoding'), (await script.text()).length]).toEqual(['gzip', 5015]);
  });

  it('sends security headers that allow only what the page needs', async () => {
    gateway = await TestGateway.start({ pages });
    for (const path of ['/', '/api/chats', '/healthz', '/nothing']) {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers.has('access-control-allow-origin')).toBe(false);
    }
    expect((await get('/api/chats')).headers.get('cache-control')).toBe('no-store');
  });

  it("serves no file outside of the page's directory", async () => {
    gateway = await TestGateway.start({ pages });
    for (const path of [
      '/../package.json',
      '/%2e%2e/package.json',
      '/assets/..%2f..%2fpackage.json',
      '/assets',
      '/.made-of',
      '/index.html%00',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
  });

  it('explains how to build a missing page', async () => {
    gateway = await TestGateway.start({ pages: join(pages, 'nowhere') });
    const answer = await get('/');
    expect([answer.status, await answer.text()]).toEqual([503, 'The web page is not built. Run: npm run build:web\n']);
  });
});
