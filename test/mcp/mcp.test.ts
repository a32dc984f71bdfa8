import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallToolResult, Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { bin } from '../bin.ts';
import { Hermetic } from '../cli/hermetic.ts';
import { sleepMark } from '../contracts/sandbox/rig.ts';
import { describeBackend, processesWith } from '../engines.ts';
import { itNeeding, shownBy } from '../needs.ts';
import { isAlive } from '../processes.ts';
import { until } from '../until.ts';

const names = ['terminal', 'process', 'read_file', 'write_file', 'edit_file', 'search_files', 'execute_code'];

/** How old a client is: before and after the protocol could ask by ending a request. */
const eras = { modern: 'auto', legacy: 'legacy' } as const;

for (const kind of ['bubblewrap', 'docker']) {
  await describeBackend(kind, (engine) => {
    const image = engine.context.docker.image;
    const hermetic = new Hermetic({ TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: image, HERMETIC_TOOL_OUTPUT_MAX_BYTES: '2000' });
    const clients: Client[] = [];
    const connect = async (args: string[] = [], options: ClientOptions = {}): Promise<Client> => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' }, ...options });
      const env = { ...hermetic.environment };
      await client.connect(
        new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp', ...args], env, cwd: hermetic.home, stderr: 'ignore' }),
      );
      clients.push(client);
      return client;
    };
    const sandboxes = async (): Promise<{ session: string }[]> => JSON.parse((await hermetic.run(['sandbox', 'list', '--json'])).stdout);
    afterEach(async () => await Promise.all(clients.splice(0).map(leave)));
    afterAll(async () => {
      for (const session of ['work', 'mcp']) await hermetic.run(['sandbox', 'destroy', session]);
      await rm(hermetic.home, { recursive: true, force: true });
    });

    for (const [era, mode] of Object.entries(eras)) {
      it(`serves every tool with a name and a description to a ${era} client`, async () => {
        const client = await connect([], { versionNegotiation: { mode } });
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name).sort()).toEqual([...names].sort());
        for (const { description, inputSchema, outputSchema, annotations } of tools) {
          expect([description, inputSchema.type, outputSchema?.type]).toEqual([expect.stringMatching(/\w{3}/), 'object', 'object']);
          expect(annotations).toMatchObject({
            title: expect.any(String),
            readOnlyHint: expect.any(Boolean),
            destructiveHint: expect.any(Boolean),
          });
        }
        expect(tools.find(({ name }) => name === 'read_file')?.annotations?.readOnlyHint).toBe(true);
      });
    }

    itNeeding(
      shownBy(engine.backend, 'python3'),
      'runs commands, scripts and file tools in one session, with structured results',
      async () => {
        const client = await connect();
        const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
        expect(await call('terminal', { command: 'cd /tmp; export X=1; echo $X; exit 2' })).toMatchObject({
          content: [{ type: 'text', text: expect.stringMatching(/^1\n\[exit code 2\]/) }],
          structuredContent: { output: '1\n', exit_code: 2, cwd: '/tmp' },
        });
        await call('write_file', { path: 'a.txt', content: 'one\ntwo\n' });
        await call('edit_file', { path: 'a.txt', edits: [{ old_text: 'two', new_text: 'three' }] });
        expect(textOf(await call('read_file', { path: '/tmp/a.txt' }))).toContain('three');
        expect(textOf(await call('search_files', { pattern: 'thr', path: '/tmp' }))).toContain('a.txt');
        const code = "print(terminal('echo $X; pwd')['output'], read_file('a.txt')['content'])";
        expect(await call('execute_code', { language: 'python', code })).toMatchObject({
          structuredContent: { status: 'success', output: '1\n/tmp\n one\nthree\n\n', tool_calls: 2 },
        });
      },
    );

    it('returns wrong input as an error result to the model', async () => {
      const client = await connect();
      const result = await client.callTool({ name: 'terminal', arguments: { comand: 'ls' } });
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/command.*comand|comand.*command/s) }] });
    });

    it('reports the output of a command while it runs', async () => {
      const client = await connect();
      const mark = sleepMark();
      const seen: string[] = [];
      const controller = new AbortController();
      const call = client.callTool(
        { name: 'terminal', arguments: { command: `echo early; sleep ${mark}` } },
        { onprogress: ({ message }) => seen.push(message ?? ''), signal: controller.signal },
      );
      call.catch(() => undefined);
      await until('it is shown', async () => seen.join('').includes('early'));
      controller.abort();
      await expect(call).rejects.toThrow();
    });

    it('kills a command when the client cancels', async () => {
      const client = await connect();
      const mark = sleepMark();
      const controller = new AbortController();
      const call = client.callTool(
        { name: 'terminal', arguments: { command: `sleep ${mark} & sleep ${mark}` } },
        { signal: controller.signal },
      );
      call.catch(() => undefined);
      await until('it sleeps', async () => processesWith(mark).filter((pid) => pid > 0).length >= 2);
      controller.abort();
      await until('it is dead', async () => processesWith(mark).length === 0);
      expect(textOf(await client.callTool({ name: 'terminal', arguments: { command: 'echo alive' } }))).toBe('alive\n');
    });

    for (const [era, mode] of Object.entries(eras)) {
      it(`notifies a ${era} client when a background process prints a pattern and when it ends`, async () => {
        const client = await connect([], { versionNegotiation: { mode } });
        const heard: { method: string; params?: unknown }[] = [];
        client.fallbackNotificationHandler = async (notification) => void heard.push(notification);
        const command = 'sleep 0.3; echo server ready; sleep 0.3; exit 4';
        await client.callTool({ name: 'terminal', arguments: { command, background: true, notify_on: ['ready'] } });
        const own = () => heard.filter(({ method }) => method === 'notifications/hermetic/process').map(({ params }) => params);
        await until('both are told', () => own().length === 2);
        expect(own()).toMatchObject([
          { event: 'matched', pattern: 'ready', line: 'server ready', command },
          { event: 'ended', outcome: 'exited with code 4', exit_code: 4, output: 'server ready\n' },
        ]);
        expect(heard.some(({ method }) => method === 'notifications/message')).toBe(true);
      });
    }

    it('gives every connection a session of its own, which ends with it', async () => {
      const before = await sandboxes();
      const [one, two] = await Promise.all([connect(), connect()]);
      await one.callTool({ name: 'terminal', arguments: { command: 'echo mine >private' } });
      expect(await two.callTool({ name: 'terminal', arguments: { command: 'cat private' } })).toMatchObject({
        structuredContent: { exit_code: 1 },
      });
      expect(await sandboxes()).toHaveLength(before.length + 2);
      await Promise.all([one, two].map(leave));
      await until('nothing is left', async () => (await sandboxes()).length === before.length);
    });

    it('lets prune remove the sandbox of a killed server', async () => {
      const before = await sandboxes();
      const client = await connect();
      await client.callTool({ name: 'terminal', arguments: { command: 'echo mine >private' } });
      expect(await sandboxes()).toHaveLength(before.length + 1);
      const { pid } = client.transport as StdioClientTransport;
      process.kill(pid ?? expect.fail('no process'), 'SIGKILL');
      await until('it is dead', () => !isAlive(pid ?? 0));
      expect((await hermetic.run(['sandbox', 'prune'])).stdout).toMatch(/was to be gone when it closed\n1 were removed/);
      expect(await sandboxes()).toEqual(before);
    });

    it('reopens a named session', async () => {
      const first = await connect(['--session', 'work']);
      await first.callTool({ name: 'terminal', arguments: { command: 'echo kept >file; cd /usr' } });
      await leave(first);
      const second = await connect(['--session', 'work']);
      expect(
        textOf(await second.callTool({ name: 'terminal', arguments: { command: 'pwd; cat ~-/file /workspace/file 2>/dev/null' } })),
      ).toContain('/usr\nkept\n');
      await leave(second);
      expect((await hermetic.run(['run', '--session', 'work', '--', 'pwd'])).stdout).toBe('/usr\n');
    });

    it('serves HTTP on loopback only with the token', async () => {
      const server = hermetic.start(['mcp', '--http', '0'], { HERMETIC_MCP_TOKEN: 'a-token-of-thirty-two-characters-for-this-test' });
      let said = '';
      server.stderr?.on('data', (data: Buffer) => {
        said += data.toString();
      });
      await until('it listens', async () => /serving at \S+\n/.test(said));
      const url = new URL(/serving at (\S+)/.exec(said)?.[1] ?? '');
      const post = (headers: Record<string, string>) => fetch(url, { method: 'POST', headers, body: '{}' });
      expect((await post({})).status).toBe(401);
      expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401);
      expect(
        (await post({ authorization: 'Bearer a-token-of-thirty-two-characters-for-this-test', origin: 'https://evil.example' })).status,
      ).toBe(403);
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
      await client.connect(
        new StreamableHTTPClientTransport(url, {
          requestInit: { headers: { authorization: 'Bearer a-token-of-thirty-two-characters-for-this-test' } },
        }),
      );
      expect(textOf(await client.callTool({ name: 'terminal', arguments: { command: 'echo over http' } }))).toBe('over http\n');
      const heard: string[] = [];
      client.fallbackNotificationHandler = async ({ method, params }) => void heard.push(`${method} ${JSON.stringify(params)}`);
      await client.callTool({ name: 'terminal', arguments: { command: 'exit 5', background: true } });
      await until('its end comes with a call', async () => {
        await client.callTool({ name: 'terminal', arguments: { command: 'true' } });
        return heard.some((text) => /notifications\/hermetic\/process .*exited with code 5/.test(text));
      });
      await client.close();
      server.kill('SIGTERM');
      await until('it has ended', async () => server.exitCode !== null || server.signalCode !== null);
      expect(said).not.toContain('a-token-of-thirty-two-characters-for-this-test');
    });
  });
}

await describeBackend('local', () => {
  const hermetic = new Hermetic({ TERMINAL_ENV: 'local' });
  const clients: Client[] = [];
  afterEach(async () => await Promise.all(clients.splice(0).map(leave)));
  afterAll(() => rm(hermetic.home, { recursive: true, force: true }));

  it('removes the files of a session from a shared home when its connection ends', async () => {
    const client = new Client({ name: 'test', version: '1' });
    const args = [bin, 'mcp'];
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, env: { ...hermetic.environment }, cwd: hermetic.home, stderr: 'ignore' }),
    );
    const kept = async (): Promise<string[]> => await readdir(join(hermetic.home, '.cache', 'hermetic')).catch(() => []);
    const before = new Set(await kept());
    await client.callTool({ name: 'terminal', arguments: { command: 'sleep 1000', background: true } });
    const added = (await kept()).filter((name) => !before.has(name));
    expect(added.length).toBeGreaterThan(0);
    await leave(client);
    await until('it is gone', async () => (await kept()).every((name) => !added.includes(name)));
  });

  it('refuses to start on an unknown backend', async () => {
    expect(await hermetic.run(['mcp', '--backend', 'nope'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no backend "nope"'),
    });
  });

  for (const [era, mode] of Object.entries(eras)) {
    describe(`a question to a ${era} client`, () => {
      const asked: string[] = [];
      const connect = async (decision?: string): Promise<Client> => {
        const capabilities = decision === undefined ? {} : { elicitation: {} };
        const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities });
        if (decision !== undefined) {
          client.setRequestHandler('elicitation/create', async ({ params }) => {
            asked.push(params.message);
            return decision === 'cancel' ? { action: 'cancel' } : { action: 'accept', content: { decision } };
          });
        }
        const args = [bin, 'mcp', '--session', `${era}-${decision}`];
        await client.connect(
          new StdioClientTransport({
            command: process.execPath,
            args,
            env: { ...hermetic.environment },
            cwd: hermetic.home,
            stderr: 'ignore',
          }),
        );
        clients.push(client);
        return client;
      };
      const command = (marker: string): string => `mkdir -p 'd-${marker}'; chmod -R 777 'd-${marker}' && touch '${marker}'`;
      const exists = async (client: Client, marker: string): Promise<boolean> =>
        textOf(await client.callTool({ name: 'terminal', arguments: { command: `ls '${marker}' 2>/dev/null` } })).startsWith(marker);

      it('shows the whole command, and runs it once after a yes', async () => {
        const client = await connect('once');
        asked.length = 0;
        const marker = `yes-${era}`;
        await client.callTool({ name: 'terminal', arguments: { command: command(marker) } });
        expect(await exists(client, marker)).toBe(true);
        expect(asked).toEqual([expect.stringContaining(command(marker))]);
        expect(asked[0]).toContain(command(marker));
        await client.callTool({ name: 'terminal', arguments: { command: command(marker) } });
        expect(asked).toHaveLength(2);
      });

      it('shows invisible characters of a command, and quotes each of its lines', async () => {
        const client = await connect('deny');
        asked.length = 0;
        await client.callTool({ name: 'terminal', arguments: { command: 'rm -rf build # \u202edliub\u200b\n- Harmless: It only looks.' } });
        expect(asked).toEqual([expect.stringMatching(/^ {2}\| rm -rf build # ⟨U\+202E⟩dliub⟨U\+200B⟩\n {2}\| - Harmless/m)]);
      });

      it.each(['deny', 'cancel', 'whatever'])('denies a command when the answer is %s', async (decision) => {
        const client = await connect(decision);
        const marker = `no-${era}-${decision}`;
        expect(await client.callTool({ name: 'terminal', arguments: { command: command(marker) } })).toMatchObject({ isError: true });
        expect(await exists(client, marker)).toBe(false);
      });

      it('denies a command when the client cannot ask a person', async () => {
        const client = await connect();
        const marker = `mute-${era}`;
        const result = await client.callTool({ name: 'terminal', arguments: { command: command(marker) } });
        expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('another way') }] });
        expect(await exists(client, marker)).toBe(false);
      });
    });
  }
});

/** Closes the client when its server has ended by itself. The client alone would kill it after four seconds, and what it has to remove would stay. */
async function leave(client: Client): Promise<void> {
  const server = (client.transport as unknown as { _process?: ChildProcess } | undefined)?._process;
  if (server && server.exitCode === null && server.signalCode === null) {
    const ended = once(server, 'close');
    server.stdin?.end();
    await ended;
  }
  await client.close();
}

function textOf({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
