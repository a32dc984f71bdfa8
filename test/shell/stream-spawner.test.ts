import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { ExecRequest } from '../../src/core/sandbox.ts';
import { ShellSession } from '../../src/shell/session.ts';
import { memoryStateStore } from '../../src/shell/state-store.ts';
import type { Attach, AttachedCommand } from '../../src/shell/streams/attached-command.ts';
import { StreamSpawner } from '../../src/shell/streams/stream-spawner.ts';
import { collect, sleepMark } from '../contracts/sandbox/rig.ts';
import { processesWith } from '../engines.ts';
import { itNeeding } from '../needs.ts';
import { until } from '../until.ts';

const children = new Set<ChildProcessWithoutNullStreams>();

/** A place with nothing but three streams to each command: processes of this machine. */
function attachHere(env: Record<string, string> = {}): Attach {
  return async ([program = '', ...args]) => attached(spawn(program, args, { env: { PATH: process.env.PATH ?? '', ...env } }));
}

function attached(child: ChildProcessWithoutNullStreams): AttachedCommand {
  children.add(child);
  const exited = once(child, 'exit').finally(() => children.delete(child));
  child.stdin.on('error', () => undefined);
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exitCode: async () => ((await exited) as [number | null])[0] ?? undefined,
    ref: () => child.ref(),
    unref: () => child.unref(),
    destroy: () => child.stdin.destroy(),
  };
}

/** That of a stream has only the base of its marks after this word. */
const isOfTether = (command: readonly string[]): boolean => command.at(-2) !== 'hermetic';

const spawners: StreamSpawner[] = [];

async function open(attach: Attach): Promise<ShellSession> {
  const spawner = await StreamSpawner.start({ attach, ended: new Promise(() => undefined), keep: 'nothing', processes: 'shared' });
  spawners.push(spawner);
  const endSandbox = async (): Promise<void> => expect.fail('the sandbox was to be ended');
  return await ShellSession.open({ spawner, store: memoryStateStore(), workdir: '/', endSandbox });
}

afterEach(() => {
  for (const spawner of spawners.splice(0)) spawner.close();
});
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

describe('a shell over streams', () => {
  it.each([
    ['the C locale', {}],
    ['a locale of several bytes a character', { LC_ALL: 'C.UTF-8' }],
  ])('carries text and state unchanged in %s', async (_, env) => {
    const session = await open(attachHere(env));
    const text = `'é日本🦀"\\\n\t\x01\x7f`;
    const defined = await collect(
      await session.exec({ command: 'export TEXT=$1; f() { echo "é: $1"; }; cd /usr; echo "$TEXT" >&2', args: [text] }),
    );
    expect(defined).toMatchObject({ stderr: `${text}\n`, exit: { kind: 'exited', code: 0 } });
    const { stdout } = await collect(await session.exec({ command: 'printf %s "$TEXT"; f ü; pwd', env: { LC_ALL: 'C.UTF-8' } }));
    expect(stdout).toBe(`${text}é: ü\n/usr\n`);
  });

  it('passes a script of a megabyte and its input to the command', async () => {
    const session = await open(attachHere());
    const command = `: ${'é'.repeat(500_000)}\nread -r line; echo "$line"; cat | wc -c`;
    const handle = await session.exec({ command, stdin: 'open' });
    await handle.write('first\n');
    await handle.write(Buffer.alloc(300_000));
    handle.closeStdin();
    expect(await collect(handle)).toMatchObject({ stdout: 'first\n300000\n', exit: { kind: 'exited', code: 0 } });
  });

  it('reports a command as lost whose output was cut before its end', async () => {
    const here = attachHere();
    const session = await open(async (command) => {
      const whole = await here(command);
      const cut = new PassThrough();
      let bytes = 0;
      whole.stdout.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes < 100_000) cut.write(chunk);
      });
      whole.stdout.on('end', () => cut.end());
      return { ...whole, stdout: cut };
    });
    const { bytes, exit } = await collect(await session.exec({ command: 'head -c 200000 /dev/zero' }));
    expect(bytes.length).toBeLessThan(100_000);
    expect(exit).toEqual({ kind: 'lost', reason: 'the end of its output did not arrive' });
  });

  it('sends no command before its tether is there and knows of it', async () => {
    const here = attachHere();
    const told: string[] = [];
    const session = await open(async (command) => {
      const isTether = isOfTether(command);
      // Longer than a shell needs for its first command.
      if (isTether) await delay(500);
      const attachment = await here(command);
      const stdin = new PassThrough();
      stdin.on('data', (chunk: Buffer) => {
        if (isTether && chunk.includes('started ')) told.push('tether');
        if (!isTether && chunk.includes('echo begun')) told.push('shell');
        attachment.stdin.write(chunk);
      });
      return { ...attachment, stdin };
    });
    expect(await collect(await session.exec({ command: 'echo begun' }))).toMatchObject({ stdout: 'begun\n' });
    expect(told.indexOf('tether')).toBe(0);
    expect(told.at(-1)).toBe('shell');
  });

  it('kills what runs of a command whose stream was cut, when its tether is there and when the next one comes later', async () => {
    const here = attachHere();
    for (const isLate of [false, true]) {
      const connected = Promise.withResolvers<void>();
      const streams: AttachedCommand[] = [];
      const tethers: AttachedCommand[] = [];
      const session = await open(async (command) => {
        const isTether = isOfTether(command);
        if (isTether && tethers.length > 0) await connected.promise;
        const attachment = await here(command);
        (isTether ? tethers : streams).push(attachment);
        return attachment;
      });
      const mark = sleepMark();
      const handle = await session.exec({ command: `sleep ${mark}` });
      await until('it runs', () => processesWith(mark).length === 1);
      for (const { stdout, stderr } of isLate ? [...tethers, ...streams] : streams)
        for (const output of [stdout, stderr]) output.destroy(new Error('the connection was reset'));
      expect(await handle.exit).toMatchObject({ kind: 'lost' });
      connected.resolve();
      await until('it is dead', () => processesWith(mark).length === 0);
    }
  });

  it('kills what its commands left running, also when the connection of the tether is closed before it is done', async () => {
    const here = attachHere();
    const tethers: AttachedCommand[] = [];
    const session = await open(async (command) => {
      const attachment = await here(command);
      if (isOfTether(command)) tethers.push(attachment);
      return attachment;
    });
    const mark = sleepMark();
    await collect(await session.exec({ command: `setsid sleep ${mark} >/dev/null 2>&1 &` }));
    await until('it runs', () => processesWith(mark).length === 1);
    const [tether] = tethers;
    // As by a connection that is closed while the tether still looks for processes.
    tether?.stdout.destroy();
    tether?.stderr.destroy();
    tether?.stdin.end('live - 1\n');
    await until('it is dead', () => processesWith(mark).length === 0);
  });

  it('keeps its state while a background process prints all the time', async () => {
    const session = await open(attachHere());
    const big = 'x'.repeat(20_000);
    const noise = 'while :; do echo "some line of a log that is written all the time"; done >&2';
    for (let round = 0; round < 5; round++) {
      const handle = await session.exec({ command: `(${noise}) & export ROUND_${round}=$1; sleep 0.05`, args: [big] });
      const { exit } = await collect(handle);
      await handle.kill('KILL');
      expect(exit).toEqual({ kind: 'exited', code: 0 });
    }
    const { stdout } = await collect(
      await session.exec({ command: `for name in \${!ROUND_*}; do printf "%s " "$(printenv "$name" | wc -c)"; done` }),
    );
    expect(stdout).toBe('20001 20001 20001 20001 20001 ');
  });

  it('retries a shell that failed to start, and runs the command once', async () => {
    let failures = 0;
    const here = attachHere();
    const attach: Attach = async (command) => {
      if (failures > 0 && !isOfTether(command)) {
        failures -= 1;
        if (failures % 2 === 0) throw new Error('the engine is busy');
        return attached(spawn('bash', ['-c', 'echo a complaint of the engine; exit 126']));
      }
      return await here(command);
    };
    const session = await open(attach);
    await collect(await session.exec({ command: 'true' }));
    failures = 3;
    // More at the same time than there are streams.
    const numbers = [1, 2, 3, 4, 5];
    const results = await Promise.all(numbers.map(async (n) => collect(await session.exec({ command: `sleep 0.3; echo ${n}` }))));
    expect([results.map(({ stdout }) => stdout), failures]).toEqual([numbers.map((n) => `${n}\n`), 0]);
  });

  it('reports why no shell starts', async () => {
    const complain: Attach = async () => attached(spawn('bash', ['-c', 'echo there is no bash here; exit 127']));
    await expect(open(complain)).rejects.toThrow('there is no bash here');
    await expect(
      open(async () => {
        throw new Error('the engine says no');
      }),
    ).rejects.toThrow('the engine says no');
  });

  it('hands no command to a waiting shell whose stream was cut', async () => {
    const streams: AttachedCommand[] = [];
    const here = attachHere();
    const session = await open(async (command) => {
      const stream = await here(command);
      if (!isOfTether(command)) streams.push(stream);
      return stream;
    });
    for (const stream of streams) stream.stdout.destroy(new Error('the connection was cut'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(await collect(await session.exec({ command: 'echo next' }))).toMatchObject({ stdout: 'next\n' });
  });

  it('reports a command as lost when its stream is cut, and runs the next one in a new shell', async () => {
    const streams: AttachedCommand[] = [];
    const here = attachHere();
    const session = await open(async (command) => {
      const stream = await here(command);
      if (!isOfTether(command)) streams.push(stream);
      return stream;
    });
    const handle = await session.exec({ command: 'echo begun; sleep 10' });
    const chunks = handle.output[Symbol.asyncIterator]();
    expect((await chunks.next()).value?.data.toString()).toBe('begun\n');
    streams[0]?.stdout.destroy(new Error('the connection was cut'));
    expect(await handle.exit).toEqual({ kind: 'lost', reason: 'the connection was cut' });
    await handle.kill('KILL');
    expect(await collect(await session.exec({ command: 'echo next' }))).toMatchObject({ stdout: 'next\n' });
  });

  it('says nothing to its tether after the end, when a shell begins after the close', async () => {
    const here = attachHere();
    const refused: Error[] = [];
    const begin: (() => void)[] = [];
    const letGo = Promise.withResolvers<void>();
    let streams = 0;
    const session = await open(async (command) => {
      const whole = await here(command);
      if (isOfTether(command)) whole.stdin.on('error', (error) => refused.push(error));
      else streams += 1;
      if (isOfTether(command) || streams === 1) return whole;
      const held = new PassThrough();
      begin.push(() => whole.stderr.pipe(held));
      const destroy = (): void => {
        whole.destroy();
        letGo.resolve();
      };
      return { ...whole, stderr: held, destroy };
    });
    await session.exec({ command: 'sleep 97532' });
    await until('the next shell starts', () => begin.length === 1);
    session.close();
    await spawners.at(-1)?.close();
    begin[0]?.();
    await letGo.promise;
    await delay(0);
    expect(refused).toEqual([]);
  });

  const beginsLate = async (request: Partial<ExecRequest>): Promise<void> => {
    const here = attachHere();
    const marker = join(mkdtempSync(join(tmpdir(), 'hermetic-late-')), 'marker');
    const tethers: AttachedCommand[] = [];
    const late = Promise.withResolvers<void>();
    const started: AttachedCommand[] = [];
    let streams = 0;
    let said = '';
    const session = await open(async (command) => {
      if (isOfTether(command)) {
        const tether = await here(command);
        tethers.push(tether);
        return tether;
      }
      streams += 1;
      if (streams === 1) return await here(command);
      // As of an engine that has taken the command, and starts it later.
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const stdin = new PassThrough({
        highWaterMark: 1024 * 1024,
        transform: (chunk, _encoding, done) => {
          said += chunk;
          done(null, chunk);
        },
      });
      void late.promise.then(async () => {
        const whole = await here(command);
        started.push(whole);
        stdin.pipe(whole.stdin);
        whole.stdout.pipe(stdout);
        whole.stderr.pipe(stderr);
      });
      const exitCode = async (): Promise<undefined> => undefined;
      return { stdin, stdout, stderr, exitCode, ref: () => undefined, unref: () => undefined, destroy: () => void stdin.end() };
    });
    const running = await session.exec({ command: 'sleep 97533' });
    const waiting = await session.exec({ command: 'echo begun >"$1"', args: [marker], ...request });
    await until('its shell is asked for', () => said.includes(request.terminal ? 'echo begun' : ' warm '));
    session.close();
    await spawners.at(-1)?.close();
    expect(await running.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
    for (const tether of tethers) await tether.exitCode();
    late.resolve();
    expect(await waiting.exit).toEqual({ kind: 'lost', reason: 'the sandbox was closed' });
    await until('they are started', () => started.length === streams - 1);
    await Promise.all(started.map((one) => one.exitCode()));
    expect(existsSync(marker)).toBe(false);
    rmSync(dirname(marker), { recursive: true });
  };

  it('begins no command whose shell comes up after the close, and leaves no process for it', () => beginsLate({}));

  itNeeding(['script'], 'begins no command on a terminal whose shell comes up after the close, and leaves no process for it', () =>
    beginsLate({ terminal: { rows: 24, columns: 80 } }),
  );

  it('ends the supervisor of a command with input when no tether is there that could tell it to', async () => {
    const tethers: ChildProcessWithoutNullStreams[] = [];
    const supervisors: AttachedCommand[] = [];
    const here = attachHere();
    const session = await open(async (command) => {
      if (!isOfTether(command)) {
        const stream = await here(command);
        supervisors.push(stream);
        return { ...stream, destroy: () => undefined };
      }
      if (tethers.length > 0) throw new Error('the connection was cut');
      const [program = '', ...args] = command;
      const child = spawn(program, args);
      tethers.push(child);
      return attached(child);
    });
    const handle = await session.exec({ command: 'cat', stdin: 'open' });
    handle.closeStdin();
    expect(await handle.exit).toEqual({ kind: 'exited', code: 0 });
    tethers[0]?.kill('SIGKILL');
    await supervisors[0]?.exitCode();
  });

  it('kills the foreground processes of a command when the program closes', async () => {
    const session = await open(attachHere());
    const handle = await session.exec({ command: 'echo begun; setsid sleep 97531 & sleep 97531' });
    await handle.output[Symbol.asyncIterator]().next();
    spawners.at(-1)?.close();
    expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
  });
});
