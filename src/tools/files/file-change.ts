import { randomBytes } from 'node:crypto';
import { HermeticError } from '../../core/errors.ts';
import type { ExecHandle } from '../../core/sandbox.ts';
import type { ToolContext } from '../../core/tool.ts';
import { decodeUtf8 } from '../../lib/decode-utf8.ts';
import { guestBash } from '../../lib/guest-files.ts';
import { Lanes } from '../../lib/lanes.ts';
import { type Answer, AnswerCollector, garbled, requireFile, sizeIn } from './file-answer.ts';
import { codeOf, runGuest } from './file-guest.ts';

/** The file before a change. */
export type Existing =
  | { kind: 'new' }
  | { kind: 'text'; text: string }
  /** Its beginning only. */
  | { kind: 'huge'; beginning: string; size: number }
  | { kind: 'binary'; size: number };

export interface Change {
  path: string;
  mayBeMissing: boolean;
  /** A text with more is only seen by its beginning. */
  maxBytes: number;
  /** The result of `decide` for a file that is new, or has neither byte order mark nor carriage returns; where it is known before. */
  guess?: string;
  /** The new text. What it throws leaves the file as it was. */
  decide(existing: Existing): string;
  /** Work that can be done while it is being written. */
  meanwhile(): void;
}

const smallBytes = 64 * 1024;
const timeoutMs = 120_000;
/** A thousand names at their longest. */
const maxNamesBytes = 300_000;
const endings: Readonly<Record<number, string>> = {
  95: 'was changed meanwhile. Nothing was written; read it again.',
  96: 'was not written, because its content did not arrive whole. It is as it was.',
  97: 'could not be written, and its old content could not be put back. It is damaged.',
};

/** By the name of the sandbox. */
const lanes = new Lanes<string>();

/**
 * Shows a file to `decide` and writes what it decides: one round trip, all or nothing. One change after another in a sandbox, so that two
 * that a model asks for at once both happen.
 */
export async function changeFile(context: ToolContext, change: Change): Promise<void> {
  await lanes.run(context.sandbox.name, () => changeNow(context, change));
}

async function changeNow(context: ToolContext, change: Change): Promise<void> {
  const { path, mayBeMissing, maxBytes } = change;
  const script = await guestBash('file-replace');
  const guess = guessFor(change);
  let collector = new AnswerCollector(maxBytes + smallBytes + maxNamesBytes);
  let isDecided = false;
  let hasScript = false;
  let refusal: unknown;
  const answer = (handle: ExecHandle, existing: Existing, isTaken: boolean): void => {
    isDecided = true;
    try {
      const content = Buffer.from(change.decide(existing));
      if (!isTaken) {
        const isPlaced = existing.kind === 'new' || (existing.kind === 'text' && Buffer.byteLength(existing.text) < smallBytes);
        if (isPlaced && isSmall(content)) send(handle, 'place', content);
        else if (hasScript) send(handle, 'replace', content);
        else send(handle, 'script', script, 'replace', content);
      }
      change.meanwhile();
    } catch (error) {
      refusal = error;
    }
    handle.closeStdin();
  };
  const temporary = randomBytes(6).toString('hex');
  const args = [path, smallBytes, maxBytes, mayBeMissing ? 'may-be-missing' : '', temporary, guess?.length ?? ''].map(String);
  const ended = await runGuest(context, 'change', args, {
    timeoutMs,
    stdin: guess ?? 'open',
    onOutput: (data, handle) => {
      collector.push(data);
      if (isDecided || !collector.answer) return;
      if (collector.answer.verb === 'more') {
        if (hasScript || collector.answer.body.length > 0) throw garbled();
        hasScript = true;
        collector = new AnswerCollector(maxBytes + smallBytes);
        send(handle, 'script', script);
        return;
      }
      const existing = existingIn(collector.answer);
      if (existing) answer(handle, existing, collector.answer.detail.endsWith('taken'));
    },
  });
  if (refusal !== undefined) throw refusal;
  if (isDecided && ended.exit.kind === 'exited' && ended.exit.code === 0) return;
  const code = codeOf(ended, path, 'written');
  if (endings[code] !== undefined) throw new HermeticError('file/failed', `${path} ${endings[code]}`);
  if (collector.answer) requireFile(collector.answer, path);
  throw garbled();
}

function guessFor({ guess }: Change): Buffer | undefined {
  const bytes = guess === undefined ? undefined : Buffer.from(guess);
  return bytes && isSmall(bytes) ? bytes : undefined;
}

/** The largest file that bash itself reads and writes. */
function isSmall(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes.length < smallBytes && !bytes.includes(0);
}

/** Lines with a verb and a length, each before as many bytes. */
function send(handle: ExecHandle, ...parts: readonly (string | Buffer)[]): void {
  const pieces: Buffer[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const content = Buffer.from((parts[at + 1] ?? '') as Buffer);
    pieces.push(Buffer.from(`${parts[at]} ${content.length}\n`), content);
  }
  // When it cannot be written, the script has ended, and says why.
  handle.write(Buffer.concat(pieces)).catch(() => undefined);
}

/** undefined when it has not arrived whole yet, or when there is nothing to change. */
function existingIn(answer: Answer): Existing | undefined {
  const { verb, body } = answer;
  if (verb === 'new') return { kind: 'new' };
  if (verb === 'binary') return { kind: 'binary', size: sizeIn(answer) };
  if (verb === 'huge' && body.length >= smallBytes) return { kind: 'huge', beginning: body.toString(), size: sizeIn(answer) };
  if ((verb !== 'text' && verb !== 'large') || body.length < sizeIn(answer)) return undefined;
  const text = decodeUtf8(body.subarray(0, sizeIn(answer)));
  return text === undefined ? { kind: 'binary', size: sizeIn(answer) } : { kind: 'text', text };
}
