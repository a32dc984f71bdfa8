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
import { type Exchange, GatewayUnderLoad, type Kind, longConversation, type Saturated, shortConversation } from './gateway-under-load.ts';
import { directory, image, program } from './ground.ts';
import { ownSeconds } from './soak/process-facts.ts';

const rounds = 25;
const unitRounds = 10;
const gapMs = 100;
const bursts = [1, 50, 500];
const toolBurst = 20;
const toolsFrom = 5000;
const furtherSessions = 1000;
/** The gateway sends this many messages to one chat at once, and one a second after that. */
const chatBurst = 15;
const chatPaceMs = 1050;
const saturated = { rounds: 5, each: 12, plainChats: 50, toolChats: 20 };
const countedTurns = 10;
const bashRuns = 100;
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
  /** Seconds of processor time that one takes, in all. */
  readonly bashCpu: number[] = [];

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

  async measureCpu(): Promise<void> {
    const before = ownSeconds();
    for (let run = 0; run < bashRuns; run++) await program('bash', ['-c', 'true']);
    this.bashCpu.push((ownSeconds() - before) / bashRuns);
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
  plainLoad: Saturated[];
  toolLoad: Saturated[];
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
      await sleep(chatPaceMs);
      single.push(await gateway.exchange(1));
    }
    const conversation = await compareConversations(gateway);
    await units.measure();
    const burst = new Map<number, number>();
    for (const chats of bursts) burst.set(chats, median(await burstTimes(gateway, chats, chats < 10 ? 15 : chats < 100 ? 3 : 1)));
    const [first = Number.NaN, ...warm] = await burstTimes(gateway, toolBurst, 3, 'tool', toolsFrom);
    const { plainLoad, toolLoad } = await underLoad(gateway, units);
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
      plainLoad,
      toolLoad,
    };
  } finally {
    await gateway.close();
  }
}

/** Plain messages and turns with one tool call by turns, each in chats that may take as many at once. */
async function underLoad(gateway: GatewayUnderLoad, units: Units): Promise<Pick<Measured, 'plainLoad' | 'toolLoad'>> {
  const { rounds: count, each, plainChats, toolChats } = saturated;
  const plainLoad: Saturated[] = [];
  const toolLoad: Saturated[] = [];
  for (let round = 0; round < count; round++) {
    await sleep(chatBurst * chatPaceMs);
    plainLoad.push(await gateway.saturate(plainChats, 'plain', 10_000 + round * plainChats, each));
    toolLoad.push(await gateway.saturate(toolChats, 'tool', toolsFrom, each));
    await units.measureCpu();
  }
  return { plainLoad, toolLoad };
}

/** What one turn makes the state database do, alone in its chat. */
async function statementsOf(kind: string): Promise<Record<Kind, number>> {
  const gateway = await GatewayUnderLoad.start(kind, image, { countsStatements: true });
  const count = async (what: Kind): Promise<number> => {
    await gateway.exchange(1, what);
    await sleep(chatPaceMs);
    await gateway.statements();
    for (let turn = 0; turn < countedTurns; turn++) {
      await gateway.exchange(1, what);
      await sleep(chatPaceMs);
    }
    return (await gateway.statements()).total / countedTurns;
  };
  try {
    return { plain: await count('plain'), tool: await count('tool') };
  } finally {
    await gateway.close();
  }
}

async function burstTimes(gateway: GatewayUnderLoad, chats: number, count: number, what: Kind = 'plain', from = 1000): Promise<number[]> {
  const all: number[] = [];
  for (let round = 0; round < count; round++) {
    await sleep(chatPaceMs);
    all.push((await timed(() => gateway.burst(chats, what, from))) / chats);
  }
  return all;
}

async function compareConversations(gateway: GatewayUnderLoad): Promise<Measured['conversation']> {
  const own = (exchange: Exchange): number => arrivalOf(exchange) + departureOf(exchange);
  const short: number[] = [];
  const long: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(chatPaceMs);
    short.push(own(await gateway.exchange(shortConversation)));
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
  const statements = new Map<string, Record<Kind, number>>();
  for (const kind of kinds) {
    measured.set(kind, await measure(kind, units));
    statements.set(kind, await statementsOf(kind));
  }
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
  const bashCpu = median(units.bashCpu);
  const loadCells = (loads: readonly Saturated[]): string[] => {
    const per = (value: (load: Saturated) => number): number => median(loads.map((load) => value(load)));
    const cost = (seconds: number): string => `${ms(seconds * 1000)}, ${(seconds / bashCpu).toFixed(1)}`;
    return [
      per(({ messages, seconds }) => messages / seconds).toFixed(1),
      cost(per(({ messages, cpu }) => cpu.process / messages)),
      cost(per(({ messages, cpu }) => cpu.machine / messages)),
    ];
  };
  const statementCell = (kind: string, what: Kind): string => statements.get(kind)?.[what].toFixed(1) ?? '';
  console.log(`\nbare \`bash -c true\` from Node takes ${ms(bashCpu * 1000)} of processor time`);
  table(
    [
      'under full load',
      'a second',
      'processor time of the gateway for each, × bash',
      'of the machine, fakes included, × bash',
      'SQL statements for each',
    ],
    all.flatMap(([kind, { plainLoad, toolLoad }]) => [
      [`${kind}, plain messages in ${saturated.plainChats} chats`, ...loadCells(plainLoad), statementCell(kind, 'plain')],
      [`${kind}, turns with one tool call in ${saturated.toolChats} chats`, ...loadCells(toolLoad), statementCell(kind, 'tool')],
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
