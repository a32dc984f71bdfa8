import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Failure } from '../fakes/bot-api.ts';
import { calls, type ModelRequest, type Reply, says } from '../fakes/model-server.ts';
import { commandLines } from '../processes.ts';
import { until } from '../until.ts';
import { describeContained } from './contained.ts';
import { Program } from './program.ts';

const isLarge = process.env.HERMETIC_CHAOS === 'large';
const people = isLarge ? 50 : 12;
const count = isLarge ? 2000 : 200;
const kills = isLarge ? 40 : 6;
const seed = Number(process.env.HERMETIC_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const mark = '(possible repeat)\n\n';
const deadlineMs = isLarge ? 1_200_000 : 150_000;

/** The same numbers for the same seed. */
function numbers(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Numbers of the messages that no answer has named yet. */
function unanswered({ messages }: ModelRequest): number[] {
  const from = messages.findLastIndex(({ role, text }) => role === 'assistant' && text.trim() !== '');
  const heard = messages.slice(from + 1).filter(({ role }) => role === 'user');
  return heard.flatMap(({ text }) => [...text.matchAll(/number (\d+)\./g)].map(([, number]) => Number(number)));
}

/** Names what it was told; about every fourth it has to look something up first. */
function script(request: ModelRequest): Reply {
  const open = unanswered(request);
  if (request.last.role === 'user' && open.some((number) => number % 4 === 0)) return calls(['terminal', { command: 'echo looked up' }]);
  return says(`Answer to ${open.map((number) => `<${number}>`).join(' ')}`);
}

describeContained('the gateway', () => {
  it(`answers every message once and in order through kills and network failures (${people} people, ${count} messages, ${kills} kills)`, {
    timeout: deadlineMs + 60_000,
  }, async () => {
    const random = numbers(seed);
    const pick = (most: number): number => Math.floor(random() * most);
    const config = { telegram: { allow_all: true }, gateway: { busy_mode: 'queue' } };
    const program = await Program.start({ script, config });
    try {
      let doubts = 0;
      program.api.trouble = ({ method }): Failure | undefined => {
        if (!['sendmessage', 'getupdates', 'editmessagetext', 'sendchataction'].includes(method)) return undefined;
        const failure = whimOf(random());
        if (method === 'sendmessage' && failure?.cut) doubts += 1;
        return failure;
      };
      const asked = new Map<number, number[]>();
      const say = (person: number, number: number): void => {
        const from = { id: 2000 + person, is_bot: false as const, first_name: `Person ${person}` };
        program.api.world.says({ from, text: `This is number ${number}.` });
        asked.set(from.id, [...(asked.get(from.id) ?? []), number]);
      };
      const killAt = new Set(Array.from({ length: kills }, (_, index) => Math.floor(((index + 0.3 + random() * 0.6) * count) / kills)));
      for (let number = 1; number <= count; number++) {
        say(pick(people), number);
        const delivered = program.api.deliveredIds;
        if (random() < 0.05 && delivered.length > 0) program.api.deliverAgain(delivered[pick(delivered.length)] ?? 0);
        if (random() < 0.01) program.api.cutAll();
        if (killAt.has(number)) {
          await delay(pick(600));
          await program.kill();
          await program.start();
        } else await delay(pick(20));
      }
      // Whoever was told of an interruption asks again.
      for (let person = 0; person < people; person++) say(person, count + 1 + person);
      const isMarked = (text: string): boolean => text.startsWith(mark);
      const texts = (chat: number): string[] => program.texts(chat).filter((text) => text.replace(mark, '').startsWith('Answer'));
      const answered = (chat: number): number[] => numbersIn([...new Set(texts(chat).map((text) => text.replace(mark, '')))]);
      const isAnswered = async (): Promise<void> => {
        await until(
          'everything is answered',
          () => [...asked].every(([chat, all]) => all.every((number) => answered(chat).includes(number))),
          {
            withinMs: deadlineMs,
            everyMs: 100,
          },
        ).catch((error: Error) => {
          const missing = [...asked].map(([chat, all]) => [chat, all.filter((number) => !answered(chat).includes(number))]);
          throw new Error(`${error.message}: ${JSON.stringify(missing)}\n${program.output}`);
        });
      };
      await isAnswered();
      const memory = residentMb(program.pid);
      for (let round = 1; round <= 4; round++) {
        for (let person = 0; person < people; person++) say(person, count + 1 + round * people + person);
        await isAnswered();
      }
      await program.told();
      for (const [chat, all] of asked) expect(answered(chat)).toEqual(all);
      for (const chat of asked.keys()) {
        const unmarked = texts(chat).filter((text) => !isMarked(text));
        expect(unmarked).toEqual([...new Set(unmarked)]);
      }
      // What may not have arrived is said once more, and never for another reason.
      const repeats = [...asked.keys()].flatMap(texts).filter(isMarked);
      expect(repeats.length).toBeLessThanOrEqual(doubts + kills * people);
      expect(residentMb(program.pid) - memory).toBeLessThan(100);
      await program.stop();
      await until('no sandbox is left', () => !commandLines().includes(program.home));
    } catch (error) {
      throw new Error(`with HERMETIC_CHAOS_SEED=${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    } finally {
      await program.close();
    }
  });
});

/** What goes wrong with about one call in twenty-five. */
function whimOf(whim: number): Failure | undefined {
  if (whim < 0.01) return { status: 429, retryAfter: 1 };
  if (whim < 0.02) return { cut: 'before' };
  if (whim < 0.03) return { cut: 'after' };
  return whim < 0.04 ? { status: 502 } : undefined;
}

function numbersIn(texts: readonly string[]): number[] {
  return texts.flatMap((text) => [...text.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number)));
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
