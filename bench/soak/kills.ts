import { setTimeout as sleep } from 'node:timers/promises';
import { Crowd } from './crowd.ts';
import type { LaneResult } from './result.ts';
import { Housekeeping, type Run } from './run.ts';
import { configFor, lostNotes, networkNote } from './steady.ts';
import { Subject } from './subject.ts';

/** No more than may have a sandbox at once. */
const toolChats = 20;
const inFlight = 20;
const asksAgainAfterMs = 15_000;
/** For the answers that are still due. */
const settleMs = 3000;

/** Full load, and a gateway that is killed at random moments and started again. */
export async function runKills(chats: number, run: Run): Promise<LaneResult> {
  const { options, random, progress, signal } = run;
  const name = 'kills';
  progress(`${name}: starting`);
  const subject = await Subject.start(name, configFor(chats));
  try {
    const { program } = subject;
    const crowd = new Crowd(program.api, { chats, inFlight, random, asksAgainAfterMs });
    crowd.toolChats = toolChats;
    const house = new Housekeeping(name, { subject, crowd, run });
    house.phase = `killed every ${options.killEverySeconds} s or so`;
    const begun = performance.now();
    const forMs = options.minutes * 60_000;
    const talk = { isOver: false };
    let kills = 0;
    const killing = async (): Promise<void> => {
      while (!talk.isOver && !signal.aborted) {
        const nextAt = performance.now() + options.killEverySeconds * (0.5 + random()) * 1000;
        while (performance.now() < nextAt && !talk.isOver && !signal.aborted) await sleep(5);
        if (talk.isOver || signal.aborted) return;
        await program.kill();
        await program.start();
        kills += 1;
      }
    };
    let messages = 0;
    let seconds = 0;
    try {
      const killer = killing().catch((error: Error) => crowd.fail(error));
      messages = await crowd.converse(() => performance.now() - begun < forMs).finally(() => (talk.isOver = true));
      seconds = (performance.now() - begun) / 1000;
      await killer;
      await program.told();
      await house.rest('rest', settleMs);
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`${(error as Error).message}\n${program.output.slice(-4000)}`, { cause: error });
    } finally {
      house.close();
    }
    const { ledger } = crowd;
    return {
      name,
      messages: ledger.asked,
      rate: messages / seconds,
      lost: ledger.open.size,
      doubled: ledger.doubled,
      repeated: ledger.repeated,
      peaks: subject.peaks,
      steady: undefined,
      kills,
      notes: [networkNote(subject), `${ledger.repeated} answers came again, marked as possible repeats`, ...lostNotes(crowd)],
    };
  } finally {
    await subject.close();
  }
}
