import { performance } from 'node:perf_hooks';
import { until } from '../../test/until.ts';
import { Crowd } from './crowd.ts';
import { fill, oldRows } from './old-home.ts';
import type { LaneResult, Steady } from './result.ts';
import { Housekeeping, type Run } from './run.ts';
import type { Kind } from './script.ts';
import { type Held, Subject } from './subject.ts';

export interface SteadyLane {
  name: string;
  kind: Kind;
  chats: number;
  inFlight: number;
  /** Begins on the state database of a year. */
  isOld?: boolean;
}

/** Telegram's own limits are not what is measured. */
const manyCalls = 1000;
const settleMs = 3000;
const deadlineMs = 120_000;
/** A gateway that is not killed answers in this time. */
const lostAfterMs = 120_000;
const comparedCalls = 5000;
const maxNamed = 10;
/** The phase at half the rate takes this share of the time under full load, within these limits. */
const halfRateShare = 0.25;
const halfRateMs = { min: 5000, max: 300_000 };
/** The second half may be slower than the first, but not for ever. */
const maxSlowdown = 5;
/** For connections that are kept for the next request. */
const closeMs = 8000;
/** Longer than a rest, and short enough to wait for. */
const sandboxSeconds = 60;

/** Start, full load in two equal halves with a rest after each, and half the load. */
export async function runSteady({ name, kind, chats, inFlight, isOld = false }: SteadyLane, run: Run): Promise<LaneResult> {
  const { options, random, signal } = run;
  run.progress(`${name}: starting`);
  const subject = await Subject.start(name, configFor(chats));
  try {
    if (isOld) await age(subject, run);
    const crowd = new Crowd(subject.program.api, { chats, inFlight, random, asksAgainAfterMs: lostAfterMs });
    const house = new Housekeeping(name, { subject, crowd, run });
    let result: Steady;
    let rate = 0;
    try {
      await house.rest('start', settleMs);
      const start = await subject.held('start');
      const loadMs = options.minutes * 60_000;
      const plain = kind === 'tool' ? await plainBefore(house, crowd, loadMs / 4) : 0;
      const before = kind === 'tool' ? await heldAtRest(house, subject, 'after plain messages') : start;
      crowd.kind = kind;

      house.phase = 'first half';
      const begun = performance.now();
      const firstHalf = await crowd.converse(() => performance.now() - begun < loadMs / 2);
      const firstMs = performance.now() - begun;
      rate = firstHalf / (firstMs / 1000);
      const saturated = await subject.loopDelay();
      const half = await heldAtRest(house, subject, 'after the first half');

      house.phase = 'second half';
      const begunAgain = performance.now();
      const secondHalf = await crowd.converse((count) => count < firstHalf && performance.now() - begunAgain < firstMs * maxSlowdown);
      const secondMs = performance.now() - begunAgain;
      rate = (firstHalf + secondHalf) / ((firstMs + secondMs) / 1000);
      const saturatedAgain = await subject.loopDelay();
      const full = await heldAtRest(house, subject, 'after the second half');

      house.phase = 'half rate';
      const perSecond = options.rate ?? rate / 2;
      const halfMs = Math.min(halfRateMs.max, Math.max(halfRateMs.min, loadMs * halfRateShare));
      await crowd.arrive(perSecond, halfMs);
      const atHalf = await subject.loopDelay();

      house.phase = 'end';
      if (kind === 'tool')
        await until('no sandbox is open', () => subject.children <= start.children, { withinMs: deadlineMs }).catch(() => undefined);
      await house.rest('end', closeMs);
      const end = await subject.held('at the end');
      const worst = {
        p50: saturatedAgain.p50,
        p99: Math.max(saturated.p99, saturatedAgain.p99),
        max: Math.max(saturated.max, saturatedAgain.max),
      };
      const calls = kind === 'tool' ? { before, after: full, plain, calls: firstHalf + secondHalf } : undefined;
      result = { start, half, full, end, secondHalf, saturated: worst, halfRate: { perSecond, loop: atHalf }, calls };
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`${(error as Error).message}\n${subject.program.output.slice(-4000)}`, { cause: error });
    } finally {
      house.close();
    }
    const { ledger, lostCommands } = crowd;
    return {
      name,
      messages: ledger.asked,
      rate,
      lost: ledger.open.size + lostCommands,
      doubled: ledger.doubled,
      repeated: ledger.repeated,
      peaks: subject.peaks,
      steady: result,
      kills: undefined,
      notes: [...(kind === 'tool' ? [networkNote(subject)] : []), ...lostNotes(crowd)],
    };
  } finally {
    await subject.close();
  }
}

export function configFor(chats: number): Record<string, Record<string, unknown>> {
  return {
    terminal: { network: 'restricted' },
    telegram: { allowed_users: Crowd.people(chats).map(String), calls_per_second: manyCalls },
    gateway: { busy_mode: 'queue', max_sandboxes: Math.max(32, chats), sandbox_lifetime: sandboxSeconds },
    model: { context_tokens: 1_000_000 },
  };
}

export function networkNote({ network }: Subject): string {
  if (network.isRestricted === undefined) return 'no tool was called';
  return network.isRestricted ? 'sandboxes of bubblewrap, network restricted' : 'the network of the sandboxes was NOT restricted';
}

/** Where to look for what was lost. */
export function lostNotes({ ledger: { open }, lostCommands }: Crowd): string[] {
  const places = [...open].slice(0, maxNamed).map(([number, chat]) => `${number} in chat ${chat}`);
  return [
    ...(places.length > 0 ? [`no answer to message ${places.join(', ')}${open.size > maxNamed ? ' and others' : ''}`] : []),
    ...(lostCommands > 0 ? [`${lostCommands} commands (/new) without an answer in time`] : []),
  ];
}

/** As many plain messages as there will be tool calls, where there is time for so many. */
async function plainBefore(house: Housekeeping, crowd: Crowd, forMs: number): Promise<number> {
  house.phase = 'plain messages';
  const begun = performance.now();
  return await crowd.converse((count) => count < comparedCalls && performance.now() - begun < forMs);
}

async function heldAtRest(house: Housekeeping, subject: Subject, phase: string): Promise<Held> {
  await house.rest(`rest ${phase}`);
  return await subject.held(phase);
}

/** Gives it the state database of a year, and waits until what is too old was removed. */
async function age(subject: Subject, { progress }: Run): Promise<void> {
  await subject.program.stop();
  progress('old home: filling the state database');
  fill(subject.database);
  await subject.program.start();
  progress('old home: waiting until old rows are removed');
  await until('old rows are gone', () => oldRows(subject.database) === 0, { withinMs: deadlineMs, everyMs: 200 });
}
