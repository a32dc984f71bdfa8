import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { originOf, type ProcessOrigin } from '../../src/app/session-process.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend } from '../engines.ts';
import { itNeeding, lackOf } from '../needs.ts';
import { isAlive } from '../processes.ts';
import { until } from '../until.ts';

const isRoot = process.geteuid?.() === 0;
const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const scratch = mkdtempSync(join(tmpdir(), 'hermetic-origin-'));
const pids = join(scratch, 'pids');
const probe = join(scratch, 'probe');
const children: ChildProcess[] = [];

chmodSync(scratch, 0o755);
mkdirSync(pids);
chmodSync(pids, 0o1777);
writeFileSync(probe, '#!/bin/sh\necho $$ >"$1.new" && mv "$1.new" "$1"; exec sleep 120\n', { mode: 0o755 });

/** What was left on purpose, in sessions of its own and without marks, is ended by its id. */
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  for (const name of readdirSync(pids)) end(Number(readFileSync(join(pids, name), 'utf8')));
  rmSync(scratch, { recursive: true });
});

function end(pid: number): void {
  try {
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep\0')) process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

async function pidOf(name: string): Promise<number> {
  const file = join(pids, name);
  return Number(await until(`${name} has started`, () => existsSync(file) && readFileSync(file, 'utf8').trim()));
}

/** How a command may try to start a program that is not known as its own. `{}` is the program. */
const ways: Record<string, string> = {
  plain: '{} &',
  nohup: 'nohup {} &',
  setsid: 'setsid {} &',
  'setsid and fork': 'setsid -f {}',
  'double fork': '( ( {} & ) & )',
  disown: '{} & disown',
  'empty environment': 'env -i {} &',
  'one variable removed': 'env -u HERMETIC_IN_SESSION {} &',
  unset: 'unset HERMETIC_IN_SESSION; {} &',
  'empty environment, session of its own, forked': 'env -i setsid -f {}',
  'twice a session of its own': 'setsid -f setsid -f {}',
  'all pipes closed': 'exec <&- >&- 2>&-; setsid -f {}',
  'nothing inherited': 'for fd in {0..255}; do eval "exec $fd>&-"; done; env -i setsid -f {}',
  'another name': '(exec -a sshd {}) &',
  exec: '(exec {}) &',
  timeout: 'timeout 100 {} &',
  nice: 'nice {} &',
  ionice: 'ionice -c 3 {} &',
  taskset: 'taskset ffffffff {} &',
  flock: 'flock "$0" {} &',
  xargs: 'echo x | xargs {} &',
  find: 'find /dev/null -exec {} \\; &',
  'trap at the end': "trap '{} &' EXIT",
  coproc: 'coproc {}',
  'process substitution': 'exec 9< <({})',
  'another shell': "sh -c '{} & exit 0'",
  perl: 'perl -MPOSIX -e "fork and exit; POSIX::setsid(); fork and exit; exec qw({})" &',
  'a terminal of its own': "setsid -f script -qec '{}' /dev/null",
  'changed mark': 'ulimit -S -x 5; setsid -f {}',
  'lower mark': 'ulimit -x 70000001; setsid -f {}',
  'no soft mark': 'ulimit -S -x unlimited; {} &',
  'no mark': 'ulimit -x unlimited; ulimit -m unlimited; {} &',
  'no mark, no environment': 'ulimit -x unlimited; ulimit -m unlimited; env -i {} &',
  'no mark, no environment, session of its own': 'ulimit -x unlimited; ulimit -m unlimited; env -i setsid -f {}',
  'nothing of all that': 'ulimit -x unlimited; ulimit -m unlimited; exec <&- >&- 2>&-; env -i setsid -f setsid -f {}',
};
/** Only root may. */
const rootWays: Record<string, string> = {
  runuser: 'runuser -u nobody -- {} &',
  su: "su -s /bin/sh nobody -c '{}' &",
};

const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const usable = (text: string) =>
  ['perl', 'script', 'taskset', 'flock', 'runuser', 'su'].every((one) => !text.includes(`${one} `) || has(one));

/** Judges processes as nobody does, who may read less of /proc, from sources that nobody can read. 0 is the process that judges. */
function judgedByNobody(gateway: number, judged: readonly number[], before = ''): ProcessOrigin[] {
  const sources = join(import.meta.dirname, '../../src');
  const copy = join(scratch, 'src');
  for (const file of ['app/session-process.ts', 'lib/process-facts.ts', 'core/errors.ts'])
    cpSync(join(sources, file), join(copy, file), { recursive: true });
  writeFileSync(join(copy, 'package.json'), '{ "type": "module" }');
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  const script = `import { originOf } from ${JSON.stringify(`file://${copy}/app/session-process.ts`)};
    const [gateway, ...judged] = process.argv.slice(1).map(Number);
    console.log(JSON.stringify(judged.map((pid) => originOf(pid || process.pid, gateway || undefined))));`;
  const node = openSync(process.execPath, 'r');
  const judge = [...nobody, '/proc/self/fd/3', '--input-type=module', '-e', script, String(gateway), ...judged.map(String)];
  const args = ['-m', 'bash', '-c', `${before} exec "$@"`, 'bash', ...judge];
  try {
    return JSON.parse(execFileSync('unshare', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit', node] }));
  } finally {
    closeSync(node);
  }
}

await describeBackend('local', (engine) => {
  it('recognises a command of a session however it starts a program', { timeout: 120_000 }, async () => {
    const people: [string, string[]][] = [['the same user', []], ...(isRoot ? [['another user', nobody] as [string, string[]]] : [])];
    const started: string[] = [];
    const lines = people.flatMap(([person, become]) =>
      Object.entries(become.length === 0 && isRoot ? { ...ways, ...rootWays } : ways)
        .filter(([, text]) => usable(text))
        .map(([title, text]) => {
          const name = `${title} as ${person}`.replaceAll(/[ ,]+/g, '-');
          const file = join(scratch, `${name}.bash`);
          writeFileSync(file, `cd /\n${text.replaceAll('{}', `${probe} ${join(pids, name)}`)}\n`);
          started.push(name);
          return `${[...become, 'bash', file].join(' ')} >/dev/null 2>&1 </dev/null &`;
        }),
    );
    expect(started.length / people.length).toBeGreaterThanOrEqual(20);
    execFileSync('mkfifo', [join(scratch, 'never')]);
    const sandbox = await engine.open(engine.spec());
    const running = await sandbox.exec({ command: `${lines.join('\n')}\nread -r _ < ${join(scratch, 'never')}` });
    const found = new Map<string, number>();
    for (const name of started) found.set(name, await pidOf(name));
    const missed = (origins: readonly ProcessOrigin[]) => started.filter((_, index) => origins[index]?.kind === 'elsewhere');
    const judged = [...found.values()];
    const byMe = () => judged.map((pid) => originOf(pid, process.pid));
    expect(missed(byMe())).toEqual([]);
    if (lackOf('mount') === undefined) expect(missed(judgedByNobody(process.pid, judged))).toEqual([]);
    await running.kill('KILL').catch(() => undefined);
    await sandbox.destroy();
    // What outlived its session is still known.
    const alive = started.filter((name) => isAlive(found.get(name) ?? 0));
    const later = alive.map((name) => originOf(found.get(name) ?? 0, process.pid));
    expect(alive.filter((_, index) => later[index]?.kind === 'elsewhere')).toEqual([]);
  });

  it('gives the commands of a session the marks that identify them', async () => {
    const spec = engine.spec();
    const sandbox = await engine.open(spec);
    const { stdout } = await collect(await sandbox.exec({ command: 'echo "$HERMETIC_IN_SESSION"; ulimit -x; cat /proc/$PPID/cmdline' }));
    expect(stdout.startsWith(`${spec.name}\n`)).toBe(true);
    expect(stdout).toMatch(/^.+\n\d+\n.*forker\.bash/s);
    await sandbox.destroy();
  });
});

/** Starts the probe below this process. */
async function start(name: string, command: readonly string[], options: Parameters<typeof spawn>[2] = {}): Promise<number> {
  const [program = '', ...args] = command.map((word) => word.replaceAll('{}', `${probe} ${join(pids, name)}`));
  children.push(spawn(program, args, { stdio: 'ignore', ...options }));
  return await pidOf(name);
}

describe('marks of a session', () => {
  it.each([
    ['environment', 'its environment', ['sh', '-c', '{}'], { env: { ...process.env, HERMETIC_IN_SESSION: '1' } }],
    ['soft-limit', 'its resource limits', ['bash', '-c', 'ulimit -S -x 12345; {}'], {}],
    ['hard-limit', 'its resource limits', ['bash', '-c', 'ulimit -x 1000000000000001; {}'], {}],
    ['memory-limit', 'its resource limits', ['bash', '-c', 'ulimit -m 7000000000000000; {}'], {}],
    ['above', 'the process that starts commands of a session is above it', ['bash', join(scratch, 'forker.bash')], {}],
  ] as const)('one mark of a session is enough: %s', async (name, why, command, options) => {
    writeFileSync(join(scratch, 'forker.bash'), `${probe} ${join(pids, 'above')}\nexit\n`);
    expect(originOf(await start(name, command, options))).toEqual({ kind: 'session', why });
  });

  it("recognises a session's command by an open pipe of the session", async () => {
    const directory = join(scratch, 'run/abc/def');
    mkdirSync(directory, { recursive: true });
    const pipe = openSync(join(directory, '12.out'), 'w');
    const pid = await start('pipes', ['sh', '-c', '{}'], { stdio: ['ignore', pipe, 'ignore'] });
    closeSync(pipe);
    expect(originOf(pid)).toEqual({ kind: 'session', why: 'the pipes it has open' });
  });

  it("recognises a session's command by the gateway among its ancestors", async () => {
    const pid = await start('below', ['sh', '-c', '{}; exit']);
    expect(originOf(pid, process.pid)).toEqual({ kind: 'session', why: 'the gateway is above it' });
  });
});

describe('a program of a person', () => {
  it("tells a person's program from a command, beside a gateway started from the same place", async () => {
    const gateway = await start('gateway', ['sh', '-c', '{}']);
    const origins = {
      script: originOf(await start('script', ['sh', '-c', '{}; exit']), gateway),
      environment: originOf(await start('bare', ['env', '-i', 'sh', '-c', '{}']), gateway),
      background: originOf(await start('background', ['sh', '-c', '{} & wait']), gateway),
      itself: originOf(process.pid, gateway),
    };
    expect(Object.values(origins)).toEqual(Object.keys(origins).map(() => ({ kind: 'elsewhere' })));
  });

  itNeeding(['script'], "recognises a person's program at a terminal of its own, as a multiplexer starts it", async () => {
    const gateway = await start('gateway-2', ['sh', '-c', '{}']);
    const pid = await start('terminal', ['setsid', '-f', 'script', '-qec', '{}', '/dev/null']);
    expect(originOf(pid, gateway)).toEqual({ kind: 'elsewhere' });
  });

  it('resource limits that people set do not mark a session', async () => {
    const pid = await start('limits', ['bash', '-c', 'ulimit -m 8000000; ulimit -S -u 4000; {}']);
    expect(originOf(pid)).toEqual({ kind: 'elsewhere' });
  });

  it('reports an orphan without a terminal as unknown', async () => {
    const gateway = await start('gateway-3', ['sh', '-c', '{}']);
    const pid = await start('left', ['setsid', '-f', 'sh', '-c', '{}']);
    const origin = await until('what started it is gone', () => [originOf(pid, gateway)].find(({ kind }) => kind !== 'elsewhere'));
    expect(origin).toEqual({ kind: 'unknown', why: 'it has no terminal, and what started it is gone' });
    expect(originOf(pid)).toEqual({ kind: 'elsewhere' });
  });

  itNeeding(['mount'], "tells a person's program from a command where processes of other users are hidden", () => {
    const hide = 'mount -t proc -o hidepid=2 proc /proc;';
    expect(judgedByNobody(0, [0], hide)).toEqual([{ kind: 'elsewhere' }]);
    expect(judgedByNobody(process.pid, [0], hide)).toEqual([{ kind: 'elsewhere' }]);
    expect(judgedByNobody(0, [0], `${hide} ulimit -S -x 12345;`)).toEqual([{ kind: 'session', why: 'its resource limits' }]);
  });

  it('reports a process that does not exist as unknown', () => {
    expect(originOf(2 ** 30)).toMatchObject({ kind: 'unknown' });
  });
});
