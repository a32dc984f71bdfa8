/**
 * The gateway under load for minutes or hours, as `hermetic start` run as a process of its own between a Bot API and a provider on this machine:
 * `npm run soak`. docs/testing.md says what it measures, `--help` its options.
 */
import { cpus } from 'node:os';
import { runKills } from './soak/kills.ts';
import { help, type LaneName, parseOptions, type SoakOptions, UsageError } from './soak/options.ts';
import { randomNumbers } from './soak/random.ts';
import { resultTable, targetTable } from './soak/report.ts';
import type { LaneResult } from './soak/result.ts';
import type { Run } from './soak/run.ts';
import { runSteady } from './soak/steady.ts';
import { targetsOf } from './soak/targets.ts';

const plainChats = 300;
const plainInFlight = 50;
const killChats = 60;
const toolChats = 20;
const interruptedCode = 130;

function laneOf(name: LaneName, run: Run): Promise<LaneResult> {
  const { chats } = run.options;
  const plain = { name, kind: 'plain', chats: chats ?? plainChats, inFlight: plainInFlight } as const;
  if (name === 'plain') return runSteady(plain, run);
  if (name === 'old home') return runSteady({ ...plain, isOld: true }, run);
  if (name === 'kills') return runKills(chats ?? killChats, run);
  const tools = chats ?? toolChats;
  return runSteady({ name, kind: 'tool', chats: tools, inFlight: tools }, run);
}

async function soak(options: SoakOptions): Promise<number> {
  const controller = new AbortController();
  const { signal } = controller;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => controller.abort(new Error(`It was ended by ${name}.`)));
  const progress = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
  const run: Run = { options, random: randomNumbers(options.seed), signal, progress };
  const results: LaneResult[] = [];
  let failure: unknown;
  for (const name of options.lanes) {
    try {
      results.push(await laneOf(name, run));
    } catch (error) {
      failure = error;
      console.error(error instanceof Error ? error.message : error);
      break;
    }
  }
  if (results.length > 0) {
    const targets = results.flatMap(targetsOf);
    console.log(`${cpus().length} cores, Node ${process.version}, ${options.minutes} min for each lane, --seed ${options.seed}\n`);
    console.log(`${resultTable(results)}\n\n${targetTable(targets)}`);
    if (!failure && targets.some(({ held, counts }) => counts && !held)) return 1;
  }
  if (signal.aborted) return interruptedCode;
  return failure ? 1 : 0;
}

function optionsOrEnd(): SoakOptions {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options) return options;
    console.log(help);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

process.exit(await soak(optionsOrEnd()));
