import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HermeticError } from '../../core/errors.ts';
import { hermetic } from '../../lib/own-command.ts';
import { replaceFile } from '../../lib/replace-file.ts';

/** The oldest are dropped beyond this, and then count as having files. */
const maxMarks = 100;

/** What is known here of a sandbox at a provider. */
export interface CloudRecord {
  reference: string;
  /** Of what it was made from. */
  hash: string;
  /** Who sees it at the provider. */
  owner: string;
  /** From which it can be made again when the provider has ended it. */
  checkpoint?: { reference: string; savedAt: string } | undefined;
}

/** undefined when the session has none. Security: a damaged record is an error, because the files of a session would be given up without it. */
export function readRecord(directory: string): CloudRecord | undefined {
  const path = pathIn(directory);
  if (!existsSync(path)) return undefined;
  try {
    const { reference, hash, owner, checkpoint } = JSON.parse(readFileSync(path, 'utf8')) as CloudRecord;
    if ([reference, hash, owner].every((text) => typeof text === 'string')) return { reference, hash, owner, checkpoint };
  } catch {
    // As one that is no record.
  }
  throw new HermeticError('sandbox/open-failed', `${path} does not say which sandbox belongs to this session.`, {
    hint: `Repair it from a backup, or remove the sandbox with \`${hermetic} sandbox destroy\`.`,
  });
}

export function writeRecord(directory: string, record: CloudRecord): void {
  replaceFile(pathIn(directory), { mode: 0o600 }, () => JSON.stringify(record));
}

/**
 * Sandboxes without files of the session: the labels of those being made, until the record names them, and the references
 * of those that were replaced. Security: anything that is not listed counts as having files, whatever its age and the
 * record say.
 */
export function readGivenUp(directory: string): string[] {
  try {
    return linesOf(readFileSync(givenUpIn(directory), 'utf8'));
  } catch {
    return [];
  }
}

export function giveUp(directory: string, mark: string): void {
  replaceFile(givenUpIn(directory), { mode: 0o600 }, (text) => [...linesOf(text).slice(1 - maxMarks), mark].join('\n'));
}

/** The record names it by now. */
export function takeBack(directory: string, mark: string): void {
  replaceFile(givenUpIn(directory), { mode: 0o600 }, (text) =>
    linesOf(text)
      .filter((line) => line !== mark)
      .join('\n'),
  );
}

function linesOf(text = ''): string[] {
  return text.split('\n').filter(Boolean);
}

function pathIn(directory: string): string {
  return join(directory, 'cloud.json');
}

function givenUpIn(directory: string): string {
  return join(directory, 'given-up');
}
