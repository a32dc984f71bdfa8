import { rm } from 'node:fs/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type ServedHttp, serveHttp } from '../../src/mcp/http.ts';
import { Hermetic } from '../cli/hermetic.ts';

const token = 'a-token-of-thirty-two-characters-or-more';
const makeServer = () => new McpServer({ name: 'test', version: '1' });
const hermetic = new Hermetic({});
let served: ServedHttp | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

afterAll(() => rm(hermetic.home, { recursive: true, force: true }));

describe('MCP over HTTP', () => {
  it.each(['a', 'x'.repeat(31)])('refuses to serve under a weak token: %s', async (weak) => {
    await expect(serveHttp({ port: 0, token: weak, makeServer })).rejects.toMatchObject({
      code: 'config/bad-value',
      message: 'HERMETIC_MCP_TOKEN has fewer than 32 characters.',
    });
  });

  it('explains a weak token on the command line', async () => {
    const { code, stderr } = await hermetic.run(['mcp', '--http', '0'], { environment: { HERMETIC_MCP_TOKEN: 'a' } });
    expect(code).not.toBe(0);
    expect(stderr).toContain('HERMETIC_MCP_TOKEN has fewer than 32 characters.');
    expect(stderr).toContain('openssl rand -hex 32');
  });

  it('slows down wrong tokens, and serves the right one', async () => {
    served = await serveHttp({ port: 0, token, makeServer });
    const { url } = served;
    const statusWith = async (headers: Record<string, string>) => {
      const answer = await fetch(url, { method: 'POST', headers, body: '{}' });
      await answer.text();
      return [answer.status, Number(answer.headers.get('retry-after')) > 0];
    };
    const wrong: Record<string, string>[] = [{ authorization: 'Bearer wrong' }, {}, { authorization: `Bearer ${token}x` }];
    for (let guess = 0; guess < 10; guess++) expect(await statusWith(wrong[guess % 3] ?? {})).toEqual([401, false]);
    for (const guess of wrong) expect(await statusWith(guess)).toEqual([429, true]);
    const [right] = await statusWith({ authorization: `Bearer ${token}` });
    expect([401, 429]).not.toContain(right);
  });
});
