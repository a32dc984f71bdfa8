import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { sleepers, sleepMark, untilAsleep, useRig } from './rig.ts';

/** Answers every connection with one line, and logs a long one to standard error. */
const server = `
use IO::Socket::INET;
$SIG{PIPE} = 'IGNORE';
my $listener = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1', LocalPort => 0, ReuseAddr => 1) or die "no socket: $!";
open(my $file, '>', 'port.new'); print $file $listener->sockport; close $file; rename 'port.new', 'port';
while (my $client = $listener->accept) {
  print $client "served ", ++$count, "\\n";
  close $client;
  print STDERR 'x' x 4000, "\\n" or exit 3;
}`;

const request = 'set -e; exec 3<>"/dev/tcp/127.0.0.1/$(<port)"; read -r answer <&3; echo "$answer"';

export function backgroundContract(engine: TestEngine): void {
  const rig = useRig(engine);

  it.each([
    ['&', (mark: string) => `sleep ${mark} & echo started`],
    ['nohup', (mark: string) => `nohup sleep ${mark} >/dev/null 2>&1 & echo started`],
    ['setsid', (mark: string) => `setsid sleep ${mark} & echo started`],
    ['a double fork', (mark: string) => `(sleep ${mark} &) ; echo started`],
    ['disown', (mark: string) => `sleep ${mark} & disown -a; echo started`],
    ['& and exit', (mark: string) => `sleep ${mark} & echo started; exit 0`],
  ])('keeps a background process started by %s running after its command has ended', async (_, start) => {
    const mark = sleepMark();
    const handle = await rig.start(start(mark));
    expect(await handle.exit).toEqual({ kind: 'exited', code: 0 });
    await untilAsleep(rig.sandbox, mark);
    expect(await rig.sandbox.hasLiveProcesses()).toBe(true);
    await handle.kill('KILL');
    expect(await sleepers(rig.sandbox, mark)).toBe(0);
    expect(await rig.sandbox.hasLiveProcesses()).toBe(false);
  });

  it('reports live processes while a command runs, and none before or after', async () => {
    const sandbox = await engine.open(engine.spec());
    try {
      expect(await sandbox.hasLiveProcesses()).toBe(false);
      const command = await sandbox.exec({ command: 'read line', stdin: 'open' });
      expect(await sandbox.hasLiveProcesses()).toBe(true);
      command.closeStdin();
      await command.exit;
      expect(await sandbox.hasLiveProcesses()).toBe(false);
    } finally {
      await sandbox.destroy();
    }
    expect(await sandbox.hasLiveProcesses()).toBe(false);
  });

  it('lets later commands reach a background server after many requests and a log larger than a pipe', async () => {
    const handle = await rig.start('perl -e "$1" & echo serving', { args: [server] });
    await handle.exit;
    await until('it listens', () => rig.succeeds('[[ -e port ]]'));
    expect(await rig.output(request)).toBe('served 1\n');
    expect(await rig.output(`for i in {1..60}; do (${request}); done | tail -n 1`)).toBe('served 61\n');
    await handle.kill('KILL');
    expect(await rig.succeeds(request)).toBe(false);
  });

  it('lets a background process print more than a pipe holds', async () => {
    const writer = '{ for i in {1..40}; do head -c 10000 /dev/zero; head -c 10000 /dev/zero >&2; done; echo "done $?" >printed; } &';
    const result = await rig.run(`${writer} echo begun`);
    expect(result.exit).toEqual({ kind: 'exited', code: 0 });
    await until('it has printed everything', () => rig.succeeds('[[ $(<printed) == "done 0" ]]'));
  });

  it('discards what a background process prints after its command has ended', async () => {
    const { stdout } = await rig.run('mkfifo gate; { read <gate; echo late; touch printed-late; } & echo early');
    expect(stdout).toBe('early\n');
    await rig.output('echo go >gate');
    await until('it has printed', () => rig.succeeds('[[ -e printed-late ]]'));
  });

  it('gives a background process no share in the input of its command', async () => {
    const handle = await rig.start('cat >stolen & wait $!; read line; echo "$line"', { stdin: 'open' });
    await handle.write('mine\n');
    await handle.exit;
    expect(await rig.output('cat stolen')).toBe('');
  });

  it('lets a command wait for its background process and return its exit code', async () => {
    expect(await rig.run('(exit 6) & wait $!')).toMatchObject({ exit: { kind: 'exited', code: 6 } });
  });

  it('hides the background jobs of one command from the next', async () => {
    const mark = sleepMark();
    const first = await rig.start(`sleep ${mark} &`);
    await first.exit;
    expect(await rig.output('jobs; wait; echo none')).toBe('none\n');
    await first.kill('KILL');
  });
}
