/**
 * What the gateway adds between a chat and a model, as `hermetic start` run as a process of its own between a Bot API and a provider on this
 * machine. `node bench/gateway.ts` prints the tables of bench/RESULTS.md.
 *
 *   HERMETIC_BENCH_IMAGE     an image with bash and coreutils that the engine has (default: terminal.docker_image)
 *   HERMETIC_BENCH_BACKENDS  which backends to measure (default: bubblewrap,docker)
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeTree } from '../src/backends/sandbox-directory.ts';
import { median, quantile, row, timed } from './figures.ts';
import { type Exchange, GatewayUnderLoad, longConversation, shortConversation } from './gateway-under-load.ts';
import { directory, image, program } from './ground.ts';

const rounds = 25;
const unitRounds = 10;
const gapMs = 100;
const bursts = [1, 50, 500];
const toolBurst = 20;
const furtherSessions = 1000;
/** After work, memory is given back at the second look at whether there is more. */
const restMs = 16_000;

const ms = (value: number): string => `${value.toFixed(1)} ms`;
const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
const times = async (count: number, action: () => Promise<unknown>): Promise<number[]> => {
  const all: number[] = [];
  for (let round = 0; round < count; round++) {
    await sleep(gapMs);
    all.push(await timed(action));
  }
  return all.slice(2);
};

/** What everything is compared with, measured again and again between the rest: the machine has other things to do. */
class Units {
  readonly bash: number[] = [];
  readonly commit: number[] = [];
  readonly http: number[] = [];

  async measure(): Promise<void> {
    const database = new DatabaseSync(join(directory, 'commit.db'));
    database.exec('pragma journal_mode = wal; pragma synchronous = full; create table if not exists t (text text)');
    const insert = database.prepare('insert into t values (?)');
    const server = createServer((_request, response) => response.end('ok'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const roundTrip = async (): Promise<void> => void (await (await fetch(`http://127.0.0.1:${port}/`)).text());
    this.bash.push(...(await times(unitRounds, () => program('bash', ['-c', 'true']))));
    this.commit.push(...(await times(unitRounds, async () => insert.run('some text'))));
    this.http.push(...(await times(unitRounds, roundTrip)));
    database.close();
    server.closeAllConnections();
    server.close();
  }
}

interface Measured {
  arrival: number[];
  departure: number[];
  /** Milliseconds for each message, by the number of chats. */
  burst: Map<number, number>;
  toolBurst: number;
  warmToolBurst: number;
  readyMs: number;
  atRest: number;
  afterBursts: number;
  withFurther: number;
  conversation: { short: number; long: number };
}

const arrivalOf = ({ saidAt, askedAt }: Exchange): number => askedAt - saidAt;
const departureOf = ({ answeredAt, sentAt }: Exchange): number => sentAt - answeredAt;

async function measure(kind: string, units: Units): Promise<Measured> {
  const gateway = await GatewayUnderLoad.start(kind, image);
  try {
    await sleep(restMs);
    const atRest = gateway.residentBytes();
    const { readyMs } = gateway;
    // Everything that happens once per program or sandbox settings has happened, such as the proof.
    await gateway.exchange(1, 'tool');
    const single: Exchange[] = [];
    for (let round = 0; round < rounds; round++) {
      await sleep(gapMs);
      single.push(await gateway.exchange(1));
    }
    const conversation = await compareConversations(gateway);
    await units.measure();
    const burst = new Map<number, number>();
    for (const chats of bursts) burst.set(chats, median(await burstTimes(gateway, chats, chats < 10 ? 15 : chats < 100 ? 3 : 1)));
    const [first = Number.NaN, ...warm] = await burstTimes(gateway, toolBurst, 3, 'tool', 5_000);
    await units.measure();
    await sleep(restMs);
    const afterBursts = gateway.residentBytes();
    await gateway.burst(furtherSessions, 'plain', 10_000);
    await sleep(restMs);
    const withFurther = gateway.residentBytes();
    const settled = single.slice(3);
    return {
      arrival: settled.map(arrivalOf),
      departure: settled.map(departureOf),
      burst,
      toolBurst: first,
      warmToolBurst: median(warm),
      readyMs,
      atRest,
      afterBursts,
      withFurther,
      conversation,
    };
  } finally {
    await gateway.close();
  }
}

async function burstTimes(
  gateway: GatewayUnderLoad,
  chats: number,
  count: number,
  what: 'plain' | 'tool' = 'plain',
  from = 1000,
): Promise<number[]> {
  const all: number[] = [];
  for (let round = 0; round < count; round++) {
    await sleep(gapMs);
    all.push((await timed(() => gateway.burst(chats, what, from))) / chats);
  }
  return all;
}

async function compareConversations(gateway: GatewayUnderLoad): Promise<Measured['conversation']> {
  const own = (exchange: Exchange): number => arrivalOf(exchange) + departureOf(exchange);
  const short: number[] = [];
  const long: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(gapMs);
    short.push(own(await gateway.exchange(shortConversation)));
    await sleep(gapMs);
    long.push(own(await gateway.exchange(longConversation)));
  }
  return { short: median(short.slice(2)), long: median(long.slice(2)) };
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): void {
  console.log(`\n${row(...head)}\n${row(...head.map(() => '---'))}`);
  for (const line of lines) console.log(row(...line));
}

const kinds = (process.env.HERMETIC_BENCH_BACKENDS ?? 'bubblewrap,docker').split(',');
try {
  const units = new Units();
  await units.measure();
  const measured = new Map<string, Measured>();
  for (const kind of kinds) measured.set(kind, await measure(kind, units));
  const bash = median(units.bash);
  const all = [...measured];
  const inBash = (value: number): string => (value / bash).toFixed(1);

  console.log(`${cpus().length} cores, Node ${process.version}, image ${image}`);
  table(
    ['unit', 'median'],
    [
      ['bare `bash -c true` from Node', ms(bash)],
      ['one fsynced SQLite commit', ms(median(units.commit))],
      ['bare HTTP round trip', ms(median(units.http))],
    ],
  );
  table(
    [
      'one message, no tool',
      'arrives → model asked, median',
      'p95',
      '× bash',
      "model's last byte → platform called, median",
      'p95',
      '× bash',
    ],
    all.map(([kind, { arrival, departure }]) => [
      kind,
      ...[arrival, departure].flatMap((values) => [ms(median(values)), ms(quantile(values, 0.95)), inBash(median(values))]),
    ]),
  );
  table(
    [
      'burst',
      ...bursts.map((chats) => `${chats} chats, messages/s (each, × bash)`),
      `${toolBurst} chats with a tool call, sandboxes to open`,
      'open',
    ],
    all.map(([kind, { burst, toolBurst: first, warmToolBurst: warm }]) => [
      kind,
      ...[...burst.values(), first, warm].map((each) => `${(1000 / each).toFixed(1)} (${ms(each)}, ${inBash(each)})`),
    ]),
  );
  table(
    ['memory (PSS)', 'start to ready', 'at rest', 'after the bursts', `with ${furtherSessions} further sessions`, 'for each'],
    all.map(([kind, { readyMs, atRest, afterBursts, withFurther }]) => [
      kind,
      `${readyMs.toFixed(0)} ms`,
      ...[atRest, afterBursts, withFurther].map(mib),
      `${((withFurther - afterBursts) / furtherSessions / 1024).toFixed(1)} KiB`,
    ]),
  );
  table(
    ['a message in a conversation of', '20 messages', '2,000 messages', '×'],
    all.map(
      ([
        kind,
        {
          conversation: { short, long },
        },
      ]) => [kind, ms(short), ms(long), (long / short).toFixed(2)],
    ),
  );
} finally {
  await removeTree(directory);
}
process.exit(0);
