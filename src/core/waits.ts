/** Reasons for a call or a turn to wait. Each completes "waiting for …". */
const waitTexts = {
  model: 'the model',
  sandbox: 'its sandbox to open',
  queue: 'a free sandbox',
  judge: 'the judgement of its action',
  approval: 'an answer to its question',
  connection: 'an answer about a connection',
  shell: 'a shell in its sandbox',
} as const;

export type WaitKind = keyof typeof waitTexts;

/** `place`: in the queue for a sandbox; the next to get one has place 1. */
export interface Wait {
  kind: WaitKind;
  place?: number | undefined;
}

/** Waits that end when a person answers. A card with the question shows them. */
export const waitsForPerson: ReadonlySet<WaitKind> = new Set<WaitKind>(['approval', 'connection']);

export function waitText({ kind, place }: Wait): string {
  return `waiting for ${waitTexts[kind]}${place === undefined ? '' : ` (place ${place} in the queue)`}`;
}
