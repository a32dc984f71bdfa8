import { parseArgs } from 'node:util';

const laneNames = ['plain', 'tools', 'old home', 'kills'] as const;
export type LaneName = (typeof laneNames)[number];

export interface SoakOptions {
  minutes: number;
  lanes: readonly LaneName[];
  /** undefined: as many as the lane has by itself. */
  chats: number | undefined;
  /** Messages a second in the phase at half the rate; undefined: half of what was reached. */
  rate: number | undefined;
  killEverySeconds: number;
  seed: number;
}

export class UsageError extends Error {}

export const help = `Usage: npm run soak -- [options]

Runs the gateway as a process of its own between a Bot API and a provider on this machine, under load, and prints what it took and which targets
held. Ends with 1 when a target that counts was missed, and with 2 when an option is wrong.

  --minutes N      how long each lane is under full load (default: 2)
  --lane NAME      ${laneNames.map((name) => `"${name}"`).join(', ')}; may be repeated (default: all)
  --chats N        how many people write (default: 300; lane tools: 20)
  --rate N         messages a second in the phase at half the rate (default: half of what was reached)
  --kill-every N   seconds between two kills in the lane kills, on average (default: 20)
  --seed N         repeats the random numbers of an earlier run
  --help

HERMETIC_SOAK_SNAPSHOTS names a directory for a heap snapshot after each phase.`;

/** undefined when help was asked for. */
export function parseOptions(words: readonly string[]): SoakOptions | undefined {
  const { values } = parsed(words);
  if (values.help) return undefined;
  const lanes = values.lane?.map((name) => {
    const lane = laneNames.find((known) => known === name.replaceAll('-', ' '));
    if (!lane) throw new UsageError(`There is no lane "${name}". The lanes are ${laneNames.join(', ')}.`);
    return lane;
  });
  return {
    minutes: positive('--minutes', values.minutes) ?? 2,
    lanes: lanes ?? laneNames,
    chats: whole('--chats', values.chats),
    rate: positive('--rate', values.rate),
    killEverySeconds: positive('--kill-every', values['kill-every']) ?? 20,
    seed: whole('--seed', values.seed) ?? Math.floor(Math.random() * 2 ** 31),
  };
}

function parsed(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...words],
      options: {
        minutes: text,
        lane: { ...text, multiple: true },
        chats: text,
        rate: text,
        'kill-every': text,
        seed: text,
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) throw new UsageError(`${name} is a number above 0, not "${text}".`);
  return value;
}

function whole(name: string, text: string | undefined): number | undefined {
  const value = positive(name, text);
  if (value !== undefined && !Number.isInteger(value)) throw new UsageError(`${name} is a whole number, not "${text}".`);
  return value;
}
