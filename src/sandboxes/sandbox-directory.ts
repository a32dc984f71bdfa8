import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SandboxSpec } from '../core/sandbox.ts';

const run = promisify(execFile);

/** What is written down about a sandbox, beside its files and where it cannot reach it. */
export interface SandboxRecord {
  name: string;
  session: string;
  image: string | undefined;
  createdAt: Date;
  directory: string;
}

/** Host paths of one sandbox. Only `workspace` and `home` are ever visible inside, and `run` read-only. */
export function pathsIn(directory: string) {
  return {
    record: join(directory, 'sandbox.json'),
    state: join(directory, 'state.json'),
    run: join(directory, 'run'),
    workspace: join(directory, 'workspace'),
    home: join(directory, 'home'),
  };
}

/** Makes the directory of a sandbox, or finds it. Returns whether it is new. */
export async function makeSandboxDirectory(spec: SandboxSpec): Promise<boolean> {
  const paths = pathsIn(spec.directory);
  await mkdir(spec.directory, { recursive: true, mode: 0o700 });
  await chmod(spec.directory, 0o700);
  for (const path of [paths.workspace, paths.home]) await mkdir(path, { recursive: true, mode: 0o700 });
  await mkdir(paths.run, { recursive: true, mode: 0o755 });
  if (await readRecord(spec.directory)) return false;
  const record = { name: spec.name, session: spec.session, image: spec.image, createdAt: new Date().toISOString() };
  const own = `${paths.record}.${randomUUID()}`;
  await writeFile(own, JSON.stringify(record), { mode: 0o600 });
  try {
    // Of several who come at once, one is the first.
    await link(own, paths.record);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own);
  }
}

async function readRecord(directory: string): Promise<SandboxRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(pathsIn(directory).record, 'utf8')) as SandboxRecord & { createdAt: string };
    return { ...record, createdAt: new Date(record.createdAt), directory };
  } catch {
    return undefined;
  }
}

/** All that is recorded below the directory of one backend. */
export async function listRecords(backendDirectory: string): Promise<SandboxRecord[]> {
  let names: string[];
  try {
    names = readdirSync(backendDirectory);
  } catch {
    return [];
  }
  const records = await Promise.all(names.map((name) => readRecord(join(backendDirectory, name))));
  return records.filter((record) => record !== undefined);
}

/** Also removes what a sandbox made unreadable for its own user. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await run('chmod', ['-R', '--', 'u+rwX', path]).catch(() => undefined);
    await rm(path, { recursive: true, force: true });
  }
}
