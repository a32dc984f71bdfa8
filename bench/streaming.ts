/**
 * Many answers that are streamed at once by `hermetic start`, to private chats of a Telegram with its limits, and that end at one moment:
 * `node bench/streaming.ts [people …]`. HERMETIC_BENCH_PROFILE names a directory for CPU profiles of the gateway.
 */
import { fork } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BotMessage, FakeBotApi } from '../test/fakes/bot-api.ts';
import { BotLimits } from '../test/fakes/bot-limits.ts';
import { Program } from '../test/gateway/program.ts';
import { until } from '../test/until.ts';
import { quantile, row } from './figures.ts';
import type { Progress } from './streaming-model.ts';
import { type Pace, wholeText, withoutSpaces } from './streaming-text.ts';

interface Delays {
  p50: number;
  p99: number;
  max: number;
}

interface Figures {
  people: number;
  pace: Pace;
  /** Pieces a second that the provider sent while all answers were on their way. */
  deltasPerSecond: number;
  /** Seconds until all had begun. */
  startSeconds: number;
  streaming: Delays;
  ending: Delays;
  maxRss: number;
  pss: number;
  /** How long its main thread could have run and had no core: what other programs add to how late its loop is. */
  coreWaitSeconds: number;
  streamingCpuSeconds: number;
  endingCpuSeconds: number;
  streamingSeconds: number;
  maxCallsPerSecond: number;
  byMethod: string;
  refused: string;
  refusedCount: number;
  editsPerMessage: number;
  halfSeconds: number;
  lastSeconds: number;
  wrong: number;
}

const mebibyte = 1024 * 1024;
const longestEndMs = Number(process.env.HERMETIC_BENCH_LONGEST_END ?? 300) * 1000;
const firstChat = 10_000;
const profiles = process.env.HERMETIC_BENCH_PROFILE;
const probe = fileURLToPath(new URL('./streaming-probe.mjs', import.meta.url));
/** As fast as two cores allow for the servers beside the gateway. */
const everyMs = (people: number): number => Math.max(100, people / 4);

/** A provider whose answers are in no process that is measured, nor in the one that measures. */
class Model {
  readonly #child;
  progress: Progress = { url: '', started: 0, held: 0, ended: 0, deltas: 0, broken: 0 };
  readonly #heard: Set<() => void> = new Set();

  constructor(pace: Pace) {
    this.#child = fork(fileURLToPath(new URL('./streaming-model.ts', import.meta.url)), [JSON.stringify(pace)]);
    this.#child.on('message', (progress: Progress) => {
      this.progress = progress;
      for (const heard of this.#heard) heard();
      this.#heard.clear();
    });
  }

  async next(): Promise<Progress> {
    await new Promise<void>((resolve) => this.#heard.add(resolve));
    return this.progress;
  }

  async ask(message: 'progress' | 'release' = 'progress'): Promise<Progress> {
    this.#child.send(message);
    return await this.next();
  }

  close(): void {
    this.#child.disconnect();
  }
}

async function measure(people: number): Promise<Figures> {
  const pace: Pace = { seconds: Number(process.env.HERMETIC_BENCH_SECONDS ?? 30), everyMs: everyMs(people) };
  const delaysFile = join(tmpdir(), `streaming-delays-${process.pid}`);
  rmSync(delaysFile, { force: true });
  const model = new Model(pace);
  await model.next();
  const program = await Program.start({
    backend: 'local',
    config: {
      telegram: { allow_all: true },
      model: { base_url: model.progress.url, context_tokens: 1_000_000 },
    },
    preload: probe,
    environment: {
      HERMETIC_BENCH_DELAYS: delaysFile,
      ...(profiles !== undefined && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` }),
    },
  });
  const { api } = program;
  api.limits = new BotLimits();
  await delay(1000);
  const mark = async (): Promise<void> => {
    process.kill(program.pid, 'SIGUSR2');
    await delay(200);
  };
  try {
    await mark();
    const begunAt = performance.now();
    const begunCpu = cpuSeconds(program.pid);
    const begunWait = coreWaitSeconds(program.pid);
    for (let index = 0; index < people; index++) {
      const id = firstChat + index;
      api.world.says({ from: { id, is_bot: false, first_name: `Person ${id}` }, text: `Message number ${id}.` });
    }
    const samples: { at: number; deltas: number }[] = [];
    let startedAt = Number.NaN;
    await until(
      'all answers wait for their end',
      async () => {
        const { started, deltas, held } = await model.ask();
        if (started >= people && Number.isNaN(startedAt)) startedAt = performance.now();
        samples.push({ at: performance.now(), deltas });
        return held >= people;
      },
      { withinMs: longestEndMs + pace.seconds * 1000, everyMs: 250 },
    );
    await mark();
    const releasedAt = performance.now();
    const releasedCpu = cpuSeconds(program.pid);
    await model.ask('release');
    const shownAt = await finals(api, people, pace, releasedAt);
    const endedCpu = cpuSeconds(program.pid);
    const endedWait = coreWaitSeconds(program.pid);
    await mark();
    // What is shown twice comes late.
    await delay(3000);
    const [, streaming, ending] = readFileSync(delaysFile, 'utf8')
      .trim()
      .split('\n')
      .map((line): Delays => JSON.parse(line));
    const memory = readFileSync(`/proc/${program.pid}/status`, 'utf8');
    const rollup = readFileSync(`/proc/${program.pid}/smaps_rollup`, 'utf8');
    const shown = byChat(api);
    const chats = Array.from({ length: people }, (_, index) => firstChat + index);
    // The whole answer, once, and nothing else.
    const wrong = chats.filter((chat) => shownText(shown.get(chat)) !== wholeText(chat, pace));
    for (const chat of wrong.slice(0, 3)) {
      const texts = shown.get(chat)?.map(({ text }) => (text.length > 160 ? `${text.slice(0, 80)} … ${text.slice(-80)}` : text));
      console.error(`chat ${chat} shows ${JSON.stringify(texts)}`);
    }
    const calls = api.calls.filter(({ method, at }) => at >= begunAt && method !== 'getupdates');
    return {
      people,
      pace,
      deltasPerSecond: steadyRate(samples),
      startSeconds: (startedAt - begunAt) / 1000,
      streaming: streaming as Delays,
      ending: ending as Delays,
      maxRss: kilobytes(memory, 'VmHWM'),
      pss: kilobytes(rollup, 'Pss'),
      coreWaitSeconds: endedWait - begunWait,
      streamingSeconds: (releasedAt - begunAt) / 1000,
      streamingCpuSeconds: releasedCpu - begunCpu,
      endingCpuSeconds: endedCpu - releasedCpu,
      maxCallsPerSecond: maxInAnySecond(calls.map(({ at }) => at)),
      byMethod: counts(calls.map(({ method }) => method)),
      refused: counts(api.refused.map(({ method, limit }) => `${method} (${limit})`)),
      refusedCount: api.refused.length,
      editsPerMessage: editCount(api) / Math.max(1, api.world.sent.length),
      halfSeconds: (quantile(shownAt, 0.5) - releasedAt) / 1000,
      lastSeconds: shownAt.length < people ? Number.POSITIVE_INFINITY : (Math.max(...shownAt) - releasedAt) / 1000,
      wrong: wrong.length,
    };
  } finally {
    await program.stop();
    await program.close();
    model.close();
    rmSync(delaysFile, { force: true });
  }
}

/** When each chat first showed the whole answer, whatever else it shows. Fewer when some never do. */
async function finals(api: FakeBotApi, people: number, pace: Pace, from: number): Promise<number[]> {
  // Made once: the servers of this process must not be late.
  const missing = new Map(Array.from({ length: people }, (_, index) => [firstChat + index, wholeText(firstChat + index, pace)]));
  const shownAt: number[] = [];
  while (missing.size > 0 && performance.now() < from + longestEndMs) {
    const shown = byChat(api);
    for (const [chat, whole] of missing) {
      if (!shownText(shown.get(chat)).includes(whole)) continue;
      missing.delete(chat);
      shownAt.push(performance.now());
    }
    await delay(100);
  }
  return shownAt;
}

function byChat({ world }: FakeBotApi): Map<number, BotMessage[]> {
  return Map.groupBy(world.sent, ({ chat }) => chat);
}

/** What a chat shows by now. */
function shownText(messages: readonly BotMessage[] | undefined): string {
  return withoutSpaces((messages ?? []).map(({ text }) => text).join(''));
}

function editCount({ world }: FakeBotApi): number {
  return world.sent.reduce((sum, { versions }) => sum + versions.length - 1, 0);
}

/** The rate between the first and the last quarter of what was sent. */
function steadyRate(samples: readonly { at: number; deltas: number }[]): number {
  const total = samples.at(-1)?.deltas ?? 0;
  const [from, to] = [samples.find(({ deltas }) => deltas >= total / 4), samples.find(({ deltas }) => deltas >= (total * 3) / 4)];
  return from && to ? ((to.deltas - from.deltas) / (to.at - from.at)) * 1000 : Number.NaN;
}

function maxInAnySecond(times: readonly number[]): number {
  let first = 0;
  return times.reduce((max, time, index) => {
    while ((times[first] ?? time) <= time - 1000) first += 1;
    return Math.max(max, index - first + 1);
  }, 0);
}

function counts(names: readonly string[]): string {
  const groups = [...Map.groupBy(names, (name) => name)].sort(([, one], [, other]) => other.length - one.length);
  return groups.map(([name, { length }]) => `${length} ${name}`).join(', ') || '0';
}

/** Of all its threads. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function coreWaitSeconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024;
}

const mib = (bytes: number): string => `${(bytes / mebibyte).toFixed(0)} MiB`;
const late = ({ p50, p99, max }: Delays): string => [p50, p99, max].map((ms) => ms.toFixed(0)).join(' / ');

const all = process.argv.slice(2).map(Number);
const figures: Figures[] = [];
const heads = ['people', 'a piece each', 'pieces a second', 'all begun', 'loop late while streaming, p50 / p99 / max ms', 'while ending'];
heads.push(
  'RSS, peak',
  'PSS',
  'CPU while streaming',
  'CPU while ending',
  'waited for a core',
  'calls, max a second',
  'calls',
  'refused',
  'edits a message',
);
heads.push('half of the ends shown', 'all shown', 'wrong');
console.log(row(...heads));
console.log(row(...heads.map(() => '---')));
for (const people of all.length > 0 ? all : [100, 200, 1000]) {
  const one = await measure(people);
  figures.push(one);
  const cells = [`${one.people}`, `${one.pace.everyMs} ms`, one.deltasPerSecond.toFixed(0), `${one.startSeconds.toFixed(1)} s`];
  cells.push(late(one.streaming), late(one.ending), mib(one.maxRss), mib(one.pss));
  cells.push(
    `${one.streamingCpuSeconds.toFixed(1)} s in ${one.streamingSeconds.toFixed(0)} s`,
    `${one.endingCpuSeconds.toFixed(1)} s`,
    `${one.coreWaitSeconds.toFixed(1)} s`,
  );
  cells.push(`${one.maxCallsPerSecond}`, one.byMethod, one.refused, one.editsPerMessage.toFixed(1));
  cells.push(`${one.halfSeconds.toFixed(1)} s`, `${one.lastSeconds.toFixed(1)} s`, `${one.wrong}`);
  console.log(row(...cells));
}

console.log(`\n${row('target', 'measured')}\n${row('---', '---')}`);
for (const one of figures) {
  const measured = (target: string, value: string): void => console.log(row(`${one.people} answers: ${target}`, value));
  if (one.people === 1000) {
    measured('event loop late by at most 250 ms', `${Math.max(one.streaming.max, one.ending.max).toFixed(0)} ms`);
    measured('at most 600 MiB', mib(one.maxRss));
    measured('all ends shown within 40 s', `${one.lastSeconds.toFixed(1)} s`);
  }
  if (one.people === 100) measured('all ends shown within 5 s', `${one.lastSeconds.toFixed(1)} s`);
  measured('no call refused', `${one.refusedCount}`);
  measured('every chat shows its answer once', `${one.people - one.wrong} of ${one.people}`);
}
