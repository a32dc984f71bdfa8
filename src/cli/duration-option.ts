import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../lib/duration.ts';

/** Milliseconds of an option such as `30d`. */
export function durationOption(text: string): number {
  const duration = parseDuration(text);
  if (duration === undefined) throw new InvalidArgumentError('A number with s, m, h or d is needed, such as 30d.');
  return duration;
}
