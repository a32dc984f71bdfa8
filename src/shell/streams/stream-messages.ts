import { type Call, callFields } from '../spawner.ts';

/** A message to a shell: a line of lengths, then the fields. Bytes as latin1 text. See `guest/stream.bash`. */
export function message(...fields: readonly string[]): string {
  return `${fields.map((field) => field.length).join(' ')}\n${fields.join('')}`;
}

export function callMessage(call: Call, delta: string): string {
  return message(delta, ...callFields(call));
}
