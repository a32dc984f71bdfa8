import { createHash } from 'node:crypto';
import { lstat, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ProofLine } from '../core/proof.ts';
import { token } from './bait.ts';
import type { Canary } from './canary.ts';
import { type Ground, line, unanswered } from './ground.ts';
import { seenInside } from './host-view.ts';
import type { Answer } from './inside.ts';

/** A file of the host that only the content proves to be it; visible at all is bad enough. */
export async function checkHostFile(ground: Ground, canary: Canary | Error): Promise<ProofLine> {
  const tried = "Read a file of the host's temporary directory, under its own path and below every mount.";
  if (canary instanceof Error) return line('host-file', tried, 'unknown', `No file could be put there: ${canary.message}`);
  return judge('host-file', tried, canary, await ground.inside.ask('look', canary.path), await seenInside(ground.host, canary.path));
}

export async function checkHermeticHome(ground: Ground, canary: Canary | Error): Promise<ProofLine> {
  const tried = "Read a file of Hermetic's home; find the records that Hermetic keeps about this sandbox.";
  const check = 'hermetic-home';
  if (canary instanceof Error) return line(check, tried, 'unknown', `No file could be put there: ${canary.message}`);
  const answer = await ground.inside.ask('look', canary.path);
  const records = await seenInside(ground.host, ground.spec.directory);
  const first = judge(check, tried, canary, answer, await seenInside(ground.host, canary.path));
  if (first.verdict === 'broken' || !records?.length) return first;
  return line(check, tried, 'broken', `The directory with its records is seen inside at ${records.join(', ')}.`);
}

/** `places`: where the mounts of the sandbox show it, as far as the host can know. */
export function judge(
  check: string,
  tried: string,
  { path, secret }: Pick<Canary, 'path' | 'secret'>,
  answer: Answer | undefined,
  places: readonly string[] | undefined,
): ProofLine {
  const [content, ...where] = answer?.detail.split(' ') ?? [];
  if (content === secret) return line(check, tried, 'broken', `It was read inside at ${where.join(' ')}.`);
  if (places?.length)
    return line(check, tried, 'broken', `The mounts of the sandbox show ${dirname(path)} at ${places.map(dirname).join(', ')}.`);
  if (answer?.outcome === 'present') return line(check, tried, 'broken', `A file of that name is there: ${where.join(' ')}.`);
  if (answer?.outcome !== 'absent') return unanswered(check, tried);
  return line(check, tried, 'held', places ? 'It is not there, and no mount shows its directory.' : 'It is not there.');
}

/** The other way round: what is written inside must not appear outside. */
export async function checkTemporaryFiles(ground: Ground): Promise<ProofLine> {
  const tried = 'Write a file into /tmp that appears in the /tmp of the host.';
  const check = 'host-temp';
  const name = `hermetic-proof-${token()}`;
  const placed = await ground.inside.ask('place', `/tmp/${name}`);
  const appeared: string[] = [];
  for (const path of new Set([join('/tmp', name), join(tmpdir(), name)])) {
    if (!(await lstat(path).catch(() => undefined))) continue;
    appeared.push(path);
    await rm(path, { force: true });
  }
  await ground.inside.ask('remove', `/tmp/${name}`);
  const shared = (await seenInside(ground.host, '/tmp'))?.includes('/tmp');
  if (appeared.length > 0) return line(check, tried, 'broken', `It appeared at ${appeared.join(', ')}.`);
  if (shared) return line(check, tried, 'broken', 'The /tmp inside is the one of the host.');
  if (placed?.outcome === 'refused') return line(check, tried, 'unknown', 'No file can be written into /tmp inside.');
  if (placed?.outcome !== 'written') return unanswered(check, tried);
  return line(check, tried, 'held', 'It was written inside and did not appear on the host.');
}

/** Compared by hash: neither side ever tells the content. */
export async function checkShadow(ground: Ground): Promise<ProofLine> {
  const tried = "Read the host's /etc/shadow.";
  const check = 'host-shadow';
  const path = '/etc/shadow';
  const [answer, places, own] = await Promise.all([
    ground.inside.ask('hash', path),
    seenInside(ground.host, path),
    readFile(path).catch(() => undefined),
  ]);
  if (places?.length) return line(check, tried, 'broken', `The mounts of the sandbox show it at ${places.join(', ')}.`);
  switch (answer?.outcome) {
    case 'absent':
      return line(check, tried, 'held', 'There is no such file inside.');
    case 'refused':
      return line(check, tried, places ? 'held' : 'unknown', 'There is such a file inside, and it cannot be read.');
    case 'present':
      break;
    default:
      return unanswered(check, tried);
  }
  if (own === undefined) {
    const happened = 'There is such a file inside; this user may not read the one of the host to compare.';
    return line(check, tried, places ? 'held' : 'unknown', happened);
  }
  if (createHash('sha256').update(own).digest('hex') !== answer.detail)
    return line(check, tried, 'held', 'The file inside is another one.');
  // Fresh systems of the same release have equal files, with nothing in them to guard.
  const hasPasswords = /^[^:]*:[^:*!]/m.test(own.toString());
  if (places && !hasPasswords) return line(check, tried, 'held', 'The file inside is another one, though it says the same: no passwords.');
  return line(check, tried, 'broken', 'The file inside says the same as the one of the host.');
}
