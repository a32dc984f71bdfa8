import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BackgroundEvent } from '../../src/core/background.ts';
import type { BlockedConnection } from '../../src/core/egress.ts';
import type { ExecRequest, OpenSandbox, Sandbox } from '../../src/core/sandbox.ts';
import { redactor, unredacted } from '../../src/lib/redact.ts';
import { executeCode } from '../../src/tools/execute-code/execute-code.ts';
import { backgroundEvent } from '../../src/tools/process/background-events.ts';
import { process as processTool } from '../../src/tools/process/process.ts';
import { ProcessTable } from '../../src/tools/process/process-table.ts';
import { terminal } from '../../src/tools/terminal.ts';
import { Toolbox } from '../../src/tools/toolbox.ts';
import { describeBackend } from '../engines.ts';
import { until } from '../until.ts';

const secret = 'correct-horse-battery-staple';
const unlisted = (host: string): BlockedConnection => ({ host, port: 443, reason: 'unlisted', count: 2 });
const sentence = 'Network: blocked evil.example:443 ×2 (not in network.allow).';

await describeBackend('bubblewrap', (engine) => {
  /** The answer of every handle, as if its network were restricted. */
  let blocked: readonly BlockedConnection[] = [];
  let opened: OpenSandbox;
  let toolbox: Toolbox;
  const events: BackgroundEvent[] = [];
  const call = (name: string, input: object) => toolbox.call(name, input);

  beforeAll(async () => {
    opened = await engine.open(engine.spec());
    const exec = async (request: ExecRequest) => {
      const handle = await opened.exec(request);
      handle.connections = async () => {
        await handle.exit;
        return { blocked, allowed: [] };
      };
      return handle;
    };
    const sandbox = new Proxy<Sandbox>(opened, {
      get: (_, name) => {
        const value: unknown = Reflect.get(opened, name, opened);
        return name === 'exec' ? exec : typeof value === 'function' ? value.bind(opened) : value;
      },
    });
    const redact = redactor([secret]);
    const processes = new ProcessTable(sandbox);
    processes.listen((process, event) => void events.push(backgroundEvent(process, event, redact)));
    const tools = [
      terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 120, processes }),
      processTool(processes),
      executeCode({ timeoutSeconds: 60, maxToolCalls: 5, mode: 'project', tools: [] }),
    ];
    toolbox = new Toolbox({ tools, sandbox, redact, guard: async () => ({ allowed: true }), maxBytes: 10_000 });
  });
  beforeEach(() => {
    blocked = [unlisted('evil.example')];
  });
  afterAll(() => opened?.destroy());

  it('ends the result of a command with the connections that were blocked', async () => {
    expect(await call('terminal', { command: 'echo out; exit 7' })).toMatchObject({
      text: `out\n[exit code 7]\n[${sentence}]`,
      data: { network: sentence },
    });
    expect(await call('terminal', { command: 'true' })).toMatchObject({ text: `[${sentence}]` });
  });

  it('says nothing of the network when no connection was blocked', async () => {
    blocked = [];
    const result = await call('terminal', { command: 'echo out' });
    expect(result.text).toBe('out\n');
    expect(result).not.toHaveProperty('data.network');
  });

  it('ends the result of a script with the connections that were blocked, also when it succeeded', async () => {
    expect(await call('execute_code', { language: 'bash', code: 'echo out' })).toMatchObject({
      text: `out\n[${sentence}]`,
      data: { status: 'success', network: sentence },
    });
    expect((await call('execute_code', { language: 'bash', code: 'exit 3' })).text).toBe(`[It exited with code 3.]\n[${sentence}]`);
  });

  it('tells of blocked connections of a background process while it runs, and at its end', async () => {
    blocked = [];
    const started = await call('terminal', { command: 'read -r word; echo "$word"', background: true });
    const id = started.ok ? started.data.process_id : '';
    expect((await call('process', { action: 'poll', id })).text).not.toContain('Network');
    blocked = [unlisted('evil.example')];
    expect((await call('process', { action: 'poll', id })).text).toContain(`[${sentence}]`);
    await call('process', { action: 'write', id, data: 'end\n' });
    const ended = await until('its end is told', async () => events.find(({ kind, process }) => kind === 'ended' && process === id));
    expect(ended).toMatchObject({ outcome: 'exited with code 0', output: `end\n[${sentence}]` });
    // A connection that failed after its end is not its own.
    blocked = [unlisted('later.example')];
    expect(await call('process', { action: 'poll', id })).toMatchObject({ data: { processes: [{ state: 'exited', network: sentence }] } });
  });

  it('redacts a secret in the name of a blocked host', async () => {
    blocked = [unlisted(`${secret}.evil.example`)];
    const result = await call('terminal', { command: 'true' });
    expect(JSON.stringify(result)).not.toContain(secret);
    expect(result.text).toContain('.evil.example:443');
    const started = await call('terminal', { command: 'true', background: true });
    const id = started.ok ? started.data.process_id : '';
    const ended = await until('its end is told', async () => events.find(({ kind, process }) => kind === 'ended' && process === id));
    expect(JSON.stringify(ended)).not.toContain(secret);
    expect(ended).toMatchObject({ output: expect.stringContaining('.evil.example:443') });
  });
});

describe.each(['bubblewrap', 'docker'])('results on a restricted network', async (kind) => {
  await describeBackend(kind, (engine) => {
    let sandbox: OpenSandbox | undefined;
    let toolbox: Toolbox;
    let obstacle: string | undefined;

    beforeAll(async () => {
      const answer = await engine.backend.canRestrict();
      obstacle = answer === true ? undefined : answer;
      if (obstacle !== undefined) return;
      sandbox = await engine.open(engine.spec({ network: 'restricted' }));
      const processes = new ProcessTable(sandbox);
      const tools = [
        terminal({ timeoutSeconds: 60, maxTimeoutSeconds: 120, processes }),
        processTool(processes),
        executeCode({ timeoutSeconds: 60, maxToolCalls: 5, mode: 'project', tools: [] }),
      ];
      toolbox = new Toolbox({ tools, sandbox, redact: unredacted, guard: async () => ({ allowed: true }), maxBytes: 10_000 });
    });
    beforeEach((context) => {
      if (obstacle !== undefined) context.skip(obstacle);
    });
    afterAll(() => sandbox?.destroy());

    /** Asks the proxy for a connection and prints the first line of its answer. */
    const viaProxy = (destination: string): string =>
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' ${destination} ${destination} >&3; head -n 1 <&3; exec 3>&-`;

    it('results name a host that the proxy refused, and one that was refused by name', async () => {
      const proxied = await toolbox.call('terminal', { command: viaProxy('Evil.Example:443') });
      expect(proxied.text).toMatch(/^HTTP\/1\.1 403 .*\n\[Network: blocked evil\.example:443 \(not in network\.allow\)\.\]$/);
      const direct = await toolbox.call('terminal', { command: 'exec 3<>/dev/tcp/direct.example/443 && cat <&3; true' });
      expect(direct.text).toMatch(/\[Network: blocked direct\.example:443 \(not in network\.allow\)\.\]$/);
    });

    it('results count the attempts of a command, and name none of an earlier one', async () => {
      const twice = await toolbox.call('terminal', { command: `${viaProxy('10.0.0.5:80')}; ${viaProxy('10.0.0.5:80')}` });
      expect(twice.text).toContain('10.0.0.5:80 ×2 (');
      expect((await toolbox.call('terminal', { command: 'echo quiet' })).text).toBe('quiet\n');
    });

    it('results name a host that a script or a background process could not reach', async () => {
      const script = await toolbox.call('execute_code', { language: 'bash', code: viaProxy('script.example:443') });
      expect(script).toMatchObject({ data: { network: 'Network: blocked script.example:443 (not in network.allow).' } });
      const started = await toolbox.call('terminal', { command: `${viaProxy('server.example:443')}; read -r word`, background: true });
      const id = started.ok ? started.data.process_id : '';
      await until('the process has tried', async () => {
        const { text } = await toolbox.call('process', { action: 'poll', id });
        return text.includes('[Network: blocked server.example:443 (not in network.allow).]');
      });
      expect((await toolbox.call('process', { action: 'kill', id })).text).toContain('server.example');
    });
  });
});
