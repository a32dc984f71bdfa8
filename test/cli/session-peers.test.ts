import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../until.ts';
import { Hermetic } from './hermetic.ts';

const hermetic = new Hermetic({ TERMINAL_ENV: 'local', HERMETIC_WEB_PORT: '0' });
const home = hermetic.environment.HERMETIC_HOME ?? '';
let gateway: ChildProcess;
let printed = '';
let url: string;
let mcp: ChildProcess;
let mcpUrl: string;
const mcpToken = 'a-token-of-thirty-two-characters-or-more';

/** Uses the page with the token, and joins as `hermetic chat` does: as itself, and in the name of another process. Prints what it was answered. */
const visitor = `
  import { closeSync, openSync } from 'node:fs';
  import { connect } from 'node:net';
  import { createInterface } from 'node:readline';
  const [url, token, socket, other, mcpUrl] = process.argv.slice(2);
  const headers = { authorization: 'Bearer ' + token };
  const page = await fetch(new URL('/api/chats', url), { headers });
  const link = await fetch(new URL('/api/links', url), { method: 'POST', headers });
  const mcp = await fetch(mcpUrl, { method: 'POST', headers: { ...headers, authorization: 'Bearer ${mcpToken}' } });
  async function join(chat, pid, opens) {
    const stream = connect(socket);
    const say = (line) => stream.write(JSON.stringify(line) + '\\n');
    say({ id: 1, name: 'hello', value: { version: 2, chat, name: 'visitor', isLive: false } });
    for await (const line of createInterface({ input: stream })) {
      const { id, name, value } = JSON.parse(line);
      if (name === 'identify') {
        if (opens) openSync(value, 'r');
        say({ id, value: pid });
      } else if (id === 1) {
        stream.destroy();
        return value;
      }
    }
  }
  const joined = await join('a', process.pid, true);
  const liar = await join('b', Number(other), true);
  const idle = await join('c', process.pid, false);
  console.log(JSON.stringify({ page: [page.status, (await page.text()).slice(0, 200)], link: link.status, mcp: mcp.status, joined, liar, idle }));
  process.exit(0);
`;

interface Answers {
  page: [status: number, text: string];
  link: number;
  mcp: number;
  joined: { ok: boolean; message?: string };
  liar: { ok: boolean; message?: string };
  idle: { ok: boolean; message?: string };
}

const script = join(hermetic.home, 'visitor.mjs');
const args = () => [
  script,
  url,
  readFileSync(join(home, 'web-token'), 'utf8').trim(),
  join(home, 'terminal.sock'),
  String(process.pid),
  mcpUrl,
];

beforeAll(async () => {
  writeFileSync(script, visitor);
  gateway = hermetic.start(['start']);
  mcp = hermetic.start(['mcp', '--http', '0'], { HERMETIC_MCP_TOKEN: mcpToken });
  for (const stream of [gateway.stdout, gateway.stderr, mcp.stderr]) {
    stream?.on('data', (data: Buffer) => {
      printed += data.toString();
    });
  }
  url = await until('the gateway prints its link', () => /Open (http:\S+)#code=/.exec(printed)?.[1]);
  mcpUrl = await until('the tools are served', () => /serving at (http:\S+)/.exec(printed)?.[1]);
}, 120_000);

afterAll(async () => {
  for (const child of [gateway, mcp]) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }
  rmSync(hermetic.home, { recursive: true, force: true, maxRetries: 10 });
});

it("admits a person's program to the page, and as itself alone to a conversation", { timeout: 120_000 }, async () => {
  const child = spawn(process.execPath, args(), { stdio: ['ignore', 'pipe', 'inherit'] });
  const answers = JSON.parse(await text(child.stdout)) as Answers;
  expect(answers.page[0]).toBe(200);
  expect(answers.link).toBe(201);
  expect([401, 403]).not.toContain(answers.mcp);
  expect(answers.joined).toEqual({ ok: true });
  for (const { ok, message } of [answers.liar, answers.idle]) {
    expect(ok).toBe(false);
    expect(message).toContain('its process cannot be found');
  }
});

it.each([
  ['as it is', ''],
  ['in a session and an environment of its own', 'env -i setsid -w '],
])("refuses the page, the tools and the conversation to a session's command, %s", { timeout: 120_000 }, async (_, before) => {
  const command = `${before}${[process.execPath, ...args()].map((word) => JSON.stringify(word)).join(' ')}`;
  const { stdout } = await hermetic.run(['run', '--backend', 'local', '--', command]);
  const answers = JSON.parse(stdout) as Answers;
  expect(answers.page[0]).toBe(403);
  expect(answers.page[1]).toContain('The page is refused: a command of a session started this');
  expect([answers.link, answers.mcp]).toEqual([403, 403]);
  expect(answers.joined.ok).toBe(false);
  expect(answers.joined.message).toContain('a command of a session started this');
  expect(answers.liar.ok).toBe(false);
  expect(answers.idle.ok).toBe(false);
  expect(printed).toContain('hermetic: The page is refused: a command of a session started this');
});
