import { randomInt } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { ExecHandle, ExecRequest, Exit, OpenSandbox, Sandbox, SandboxSpec } from '../../../src/core/sandbox.ts';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';

export interface Result {
  stdout: string;
  stderr: string;
  bytes: Buffer;
  exit: Exit;
}

type Options = Omit<ExecRequest, 'command'>;

/** One sandbox that the tests of a theme share, and the few things they do with it. */
export interface Rig {
  readonly sandbox: OpenSandbox;
  /** Where the session started. */
  readonly workdir: string;
  /** Starts a command. */
  start(command: string, options?: Options): Promise<ExecHandle>;
  /** Runs a command to its end. */
  run(command: string, options?: Options): Promise<Result>;
  /** What a command prints that must succeed. */
  output(command: string, options?: Options): Promise<string>;
  succeeds(command: string): Promise<boolean>;
}

export function useRig(engine: TestEngine, wishes?: Partial<SandboxSpec>): Rig {
  let opened: OpenSandbox | undefined;
  let workdir = '';
  beforeAll(async () => {
    opened = await engine.open(engine.spec(wishes));
    workdir = opened.cwd;
  });
  afterAll(() => opened?.destroy());
  const current = (): OpenSandbox => {
    if (!opened) throw new Error('the sandbox is not open yet');
    return opened;
  };
  const start: Rig['start'] = (command, options) => current().exec({ ...options, command });
  const run: Rig['run'] = async (command, options) => await collect(await start(command, options));
  return {
    get sandbox() {
      return current();
    },
    get workdir() {
      return workdir;
    },
    start,
    run,
    output: async (command, options) => {
      const { stdout, stderr, exit } = await run(command, options);
      if (exit.kind !== 'exited' || exit.code !== 0) throw new Error(`${command}: ${JSON.stringify(exit)} ${stderr}`);
      return stdout;
    },
    succeeds: async (command) => {
      const { exit } = await run(command);
      return exit.kind === 'exited' && exit.code === 0;
    },
  };
}

export async function collect(handle: ExecHandle): Promise<Result> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  for await (const { stream, data } of handle.output) (stream === 'stdout' ? stdout : stderr).push(data);
  const bytes = Buffer.concat(stdout);
  return { stdout: bytes.toString(), stderr: Buffer.concat(stderr).toString(), bytes, exit: await handle.exit };
}

/** An endless `sleep` is told from all others by how long it wants to sleep. */
export function sleepMark(): string {
  return `9${randomInt(10_000_000, 99_999_999)}`;
}

const countScript = `
count=0
for file in /proc/[0-9]*/cmdline; do
  words=()
  { mapfile -d '' -t words <"$file"; } 2>/dev/null
  [[ \${words[*]} != "sleep $1" ]] || count=$((count + 1))
done
echo "$count"`;

/** How many processes in the sandbox are a `sleep` with this mark. */
export async function sleepers(sandbox: Sandbox, mark: string): Promise<number> {
  return Number((await collect(await sandbox.exec({ command: countScript, args: [mark], stateless: true }))).stdout);
}

export async function untilAsleep(sandbox: Sandbox, mark: string, count = 1): Promise<void> {
  await until(`${count} processes sleep`, async () => (await sleepers(sandbox, mark)) === count);
}

/** How many processes there are in the sandbox. */
export async function processCount(sandbox: Sandbox): Promise<number> {
  return Number((await collect(await sandbox.exec({ command: 'ls /proc | grep -c "^[0-9]"' }))).stdout);
}

/** The same, with all that is kept for the next commands. */
export async function fullProcessCount(sandbox: Sandbox): Promise<number> {
  await Promise.all(Array.from({ length: 4 }, async () => collect(await sandbox.exec({ command: 'true' }))));
  return await processCount(sandbox);
}

/** Reads the output of a command piece by piece, while it runs. */
export function follow(handle: ExecHandle) {
  const chunks = handle.output[Symbol.asyncIterator]();
  let seen = Buffer.alloc(0);
  const more = async (): Promise<boolean> => {
    const { value, done } = await chunks.next();
    if (!done) seen = Buffer.concat([seen, value.data]);
    return !done;
  };
  return {
    /** Everything so far, of both streams, once it matches. */
    until: async (pattern: RegExp): Promise<string> => {
      while (!pattern.test(seen.toString())) {
        if (!(await more())) throw new Error(`the output ended before ${pattern}: ${seen}`);
      }
      return seen.toString();
    },
    /** Everything, once the command has ended. */
    rest: async (): Promise<string> => {
      while (await more());
      return seen.toString();
    },
  };
}
