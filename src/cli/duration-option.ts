import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../lib/duration.ts';

/** Milliseconds of an option such as `30d`. */
export function durationOption(text: string): number {
  const duration = parseDuration(text);
  if (duration === undefined) throw new InvalidArgumentError('Expected a number with s, m, h or d, such as 30d.');
  return duration;
}

/** Of an option such as `2.5`. */
export function secondsOption(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0) || !Number.isFinite(seconds)) throw new InvalidArgumentError('Expected a number of seconds greater than 0.');
  return seconds;
}
