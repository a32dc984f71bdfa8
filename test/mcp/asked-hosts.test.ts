import { rm } from 'node:fs/promises';
import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { describeBackend } from '../engines.ts';
import { describeNeeding } from '../needs.ts';

const reach = (host: string) =>
  String.raw`(exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n' >&3; cat <&3)`;

await describeBackend('bubblewrap', () => {
  describeNeeding(['restricted-network'], 'a question about a host to an MCP client', () => {
    const hermetic = new Hermetic({ TERMINAL_ENV: 'bubblewrap', TERMINAL_NETWORK: 'restricted' });
    const clients: Client[] = [];
    const asked: string[] = [];
    afterEach(async () => await Promise.all(clients.splice(0).map((client) => client.close())));
    afterAll(async () => await rm(hermetic.home, { recursive: true, force: true, maxRetries: 10 }));

    /** Says yes once about hosts whose name begins with `yes`. */
    const run = async (mode: 'auto' | 'legacy', canAsk: boolean, command: string): Promise<string> => {
      const client = new Client(
        { name: 'test', version: '1' },
        { versionNegotiation: { mode }, capabilities: canAsk ? { elicitation: {} } : {} },
      );
      asked.length = 0;
      if (canAsk) {
        client.setRequestHandler('elicitation/create', async ({ params }) => {
          asked.push(params.message);
          return { action: 'accept', content: { decision: params.message.includes('(yes.example:80)') ? 'once' : 'deny' } };
        });
      }
      const env = { ...hermetic.environment };
      await client.connect(
        new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp'], env, cwd: hermetic.home, stderr: 'ignore' }),
      );
      clients.push(client);
      const result = (await client.callTool({ name: 'terminal', arguments: { command } })) as CallToolResult;
      return result.content.map((one) => (one.type === 'text' ? one.text : '')).join('');
    };

    it.each(['auto', 'legacy'] as const)('is asked while its command runs, also two at once, by a client in the mode %s', async (mode) => {
      const text = await run(mode, true, `${reach('yes.example')} & sleep 1; ${reach('no.example')} & wait`);
      expect(asked).toHaveLength(2);
      expect(text).toContain('yes.example:80 cannot be reached: its name has no address.');
      expect(text).toContain('no.example:80 is blocked: a person was asked and said no.');
      expect(text).toContain('allowed yes.example:80 for this command');
    });

    it('is not asked where the client cannot, and the host is blocked at once', async () => {
      expect(await run('auto', false, reach('yes.example'))).toContain('yes.example:80 is blocked: no rule of network.allow');
    });
  });
});
