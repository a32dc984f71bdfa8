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
import type { OpenSandbox } from '../src/core/sandbox.ts';
import { backendDrivers } from '../src/sandboxes/index.ts';
import { removeTree } from '../src/sandboxes/sandbox-directory.ts';
import { median, quantile, row } from './figures.ts';
import { context, directory, image, lived, quiet, specFor, timed } from './ground.ts';

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

async function connect(kind: string, home: string): Promise<Client> {
  await mkdir(home, { recursive: true });
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const { PATH = '', TMPDIR } = process.env;
  const env = { PATH, HOME: home, HERMETIC_HOME: home, TERMINAL_ENV: kind, TERMINAL_DOCKER_IMAGE: image, ...(TMPDIR && { TMPDIR }) };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp'], env, cwd: home, stderr: 'inherit' }));
  return client;
}

const commit = commits();
const homes = await mkdtemp(join(tmpdir(), 'hermetic-bench-home-'));
console.log(
  `${row('`true` over MCP', 'the command', 'p95', 'one commit', 'terminal over MCP', 'p95', '÷ (2 × command + commit)')}\n${row(...Array(7).fill('---'))}`,
);
try {
  for (const driver of backendDrivers.filter(({ kind }) => kinds.includes(kind))) {
    const sandbox = await driver.create(context).open(specFor(driver.kind, 'mcp'), quiet);
    const client = await connect(driver.kind, join(homes, driver.kind));
    try {
      const call = async (source: string): Promise<void> => {
        const { isError, content } = await client.callTool({ name: 'terminal', arguments: { command: source } });
        if (isError) throw new Error(JSON.stringify(content));
      };
      await Promise.all([command(sandbox, lived), call(lived)]);
      const variants = { command: () => command(sandbox, 'true'), commit, call: () => call('true') };
      const times = { command: [] as number[], commit: [] as number[], call: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        for (const name of ['command', 'commit', 'call'] as const) {
          await sleep(gapMs);
          const elapsed = await timed(variants[name]);
          if (round > 4) times[name].push(elapsed);
        }
      }
      const ms = (value: number): string => `${value.toFixed(2)} ms`;
      const [one, unit, all] = [median(times.command), median(times.commit), median(times.call)];
      const [slow, slowest] = [quantile(times.command, 0.95), quantile(times.call, 0.95)];
      console.log(row(driver.kind, ms(one), ms(slow), ms(unit), ms(all), ms(slowest), (all / (2 * one + unit)).toFixed(2)));
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
