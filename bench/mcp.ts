/**
 * A `terminal` call over the Model Context Protocol, through a real `hermetic mcp` on standard input and output, against the same command
 * through the library and one commit to a state database that is on disk when it returns, measured in one interleaved run:
 * `node bench/mcp.ts`.
 *
 *   HERMETIC_BENCH_IMAGE  an image with bash and coreutils that the engine has (default: terminal.docker_image)
 */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { backendDrivers } from '../src/backends/index.ts';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { median, quantile, row, timed } from './figures.ts';
import { backendOf, directory, image, lived, quiet, specFor } from './ground.ts';

const rounds = 80;
const gapMs = 100;
const bin = new URL('../bin/hermetic.mjs', import.meta.url).pathname;
const kinds = ['docker', 'bubblewrap'];

async function command(sandbox: OpenSandbox, source: string): Promise<void> {
  const handle = await sandbox.exec({ command: source });
  for await (const _ of handle.output);
  const exit = await handle.exit;
  if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`${source} failed: ${JSON.stringify(exit)}`);
}

/** As the state database is opened. */
function commits(): () => Promise<void> {
  const database = new DatabaseSync(join(directory, 'unit.db'));
  database.exec('pragma journal_mode = wal; pragma synchronous = full; create table if not exists unit (id integer primary key, text)');
  const insert = database.prepare('insert into unit (text) values (?)');
  return async () => {
    insert.run('x'.repeat(300));
  };
}

interface Connection {
  client: Client;
  /** When the last request was handed to the pipe, and when the last answer came from it. */
  times: { sent: number; answered: number };
}

async function connect(kind: string, home: string): Promise<Connection> {
  await mkdir(home, { recursive: true });
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const { PATH = '', TMPDIR } = process.env;
  const env = { PATH, HOME: home, HERMETIC_HOME: home, TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: image, ...(TMPDIR && { TMPDIR }) };
  const transport = new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp'], env, cwd: home, stderr: 'inherit' });
  await client.connect(transport);
  const times = { sent: 0, answered: 0 };
  const [send, receive] = [transport.send.bind(transport), transport.onmessage?.bind(transport)];
  transport.send = (message) => {
    times.sent = performance.now();
    return send(message);
  };
  transport.onmessage = (message) => {
    times.answered = performance.now();
    receive?.(message);
  };
  return { client, times };
}

const commit = commits();
const homes = await mkdtemp(join(tmpdir(), 'hermetic-bench-home-'));
console.log(
  `${row('`true` over MCP', 'the command', 'p95', 'one commit', 'p95', 'answer at the pipe', 'p95', 'answer in the client', 'p95', 'pipe ÷ (2 × command + commit)', 'client ÷ it')}\n${row(...Array(11).fill('---'))}`,
);
try {
  for (const driver of backendDrivers.filter(({ kind }) => kinds.includes(kind))) {
    const sandbox = await backendOf(driver).open(specFor(driver.kind, 'mcp'), quiet);
    const { client, times: pipe } = await connect(driver.kind, join(homes, driver.kind));
    try {
      const call = async (source: string): Promise<void> => {
        const { isError, content } = await client.callTool({ name: 'terminal', arguments: { command: source } });
        if (isError) throw new Error(JSON.stringify(content));
      };
      await Promise.all([command(sandbox, lived), call(lived)]);
      const variants = { command: () => command(sandbox, 'true'), commit, call: () => call('true') };
      const times = { command: [] as number[], commit: [] as number[], call: [] as number[], answer: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        for (const name of ['command', 'commit', 'call'] as const) {
          await sleep(gapMs);
          const elapsed = await timed(variants[name]);
          if (round > 4) times[name].push(elapsed);
          if (round > 4 && name === 'call') times.answer.push(pipe.answered - pipe.sent);
        }
      }
      const ms = (value: number): string => `${value.toFixed(2)} ms`;
      const target = 2 * median(times.command) + median(times.commit);
      const figures = [times.command, times.commit, times.answer, times.call].flatMap((list) => [
        ms(median(list)),
        ms(quantile(list, 0.95)),
      ]);
      const ratios = [times.answer, times.call].map((list) => (median(list) / target).toFixed(2));
      console.log(row(driver.kind, ...figures, ...ratios));
    } finally {
      await client.close();
      await sandbox.destroy();
    }
  }
} finally {
  await removeTree(directory);
  await removeTree(homes);
}
process.exit(0);
