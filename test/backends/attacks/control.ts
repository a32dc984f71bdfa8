import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { OpenSandbox } from '../../../src/core/sandbox.ts';
import { SandboxPool } from '../../../src/sandboxes/pool/pool.ts';
import { collect } from '../../contracts/sandbox/rig.ts';
import type { TestEngine } from '../../engines.ts';
import { passTime } from './pass-time.ts';
import { briefly, command, limits, useAttackRig, worksOrIsLost } from './rig.ts';

/** `$control` is the pipe to the forker, `$attachment` the name of whoever runs this. */
const attacks: Record<string, string> = {
  'somebody who never leaves': `mkdir -p /tmp/ghost; mkfifo /tmp/ghost/{alive,events}; printf 'attach ../../tmp/ghost 12345678\\n' >$control`,
  'a hundred who are not there': `for ((i = 0; i < 100; i++)); do echo "attach nobody-$i 12345678"; done >$control`,
  'the news that everybody has left': `echo "detached $attachment" >$control`,
  'orders to kill everything': `for mark in '[0-9]*' '********' unlimited 12345678 '\${x}' '$(kill -9 -1)'; do echo "kill $attachment $mark KILL 1"; done >$control`,
  'orders to stop': 'echo stop >$control',
  'half a line': 'printf spaw >$control',
  'a line of a megabyte': `head -c 1000000 /dev/zero | tr '\\\\0' x >$control; echo >$control`,
  'zeros and noise': 'head -c 100000 /dev/urandom >$control; head -c 100000 /dev/zero >$control',
  'subscripts that are code': `printf 'attach x[$(kill -9 -1)] 1\\ndetached a]=$(kill -9 -1)\\nended $(kill -9 -1)\\n' >$control`,
  'a thief who reads the orders': 'timeout 2 cat <$control >/dev/null &',
  'more than it can take': `timeout 2 bash -c 'yes "kill nobody 12345678 TERM 1" >$0' $control &`,
};

const keep = 'echo kept >kept';
const prelude = `
control=/run/hermetic/control
for attachment in /run/hermetic/*-*/; do attachment=\${attachment:14:-1}; done`;

/** Other shells on the pipes of the shells to come: whatever they are asked, they answer. */
const impostors = 'for ((i = 0; i < 40; i++)); do echo "spawn $attachment $i 1234567000000000 lines 1 1"; done >$control; sleep 0.3';

/** Once the next shell waits, stops the forker and fills its pipe to the last byte. */
const stuff = `
find() {
  found=()
  for file in /proc/[0-9]*/cmdline; do
    words=()
    { mapfile -d '' -t words <"$file"; } 2>/dev/null
    [[ $file == /proc/$$/* || \${words[*]} != *"$1"* ]] || found+=("\${file//[!0-9]/}")
  done
}
until find __HERMETIC_SHELL; ((\${#found[@]})); do sleep 0.02; done
find /run/hermetic/forker.bash; kill -STOP "\${found[@]}"
for size in 4096 1; do dd if=/dev/zero of=$control oflag=nonblock bs=$size count=100000 2>/dev/null; done`;

export function controlAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  const attackAndReopen = async (attack: string, aftermath: (sandbox: OpenSandbox) => Promise<unknown>): Promise<void> => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    await command(sandbox, keep);
    await rig.withstand(async () => {
      const handle = await sandbox.exec({ command: `${prelude}; ${attack}` });
      await Promise.race([handle.exit, delay(2000)]);
      await passTime(() => aftermath(sandbox));
      await passTime(() => sandbox.close());
    });
    // What is left of the attack in a sandbox that stays may keep silent.
    const again = await (engine.backend.traits.durable ? passTime(() => engine.open(spec)) : engine.open(spec));
    // Without the session's state, into which an attack may have put anything.
    expect(String(await again.readFile('/workspace/kept'))).toBe('kept\n');
    await again.destroy();
  };

  it.each(Object.entries(attacks))('reopens a sandbox with its files after an attacker sent the forker %s', async (_, attack) => {
    await attackAndReopen(attack, worksOrIsLost);
  });

  it('replaces a sandbox whose control pipe is full after two lost commands', async () => {
    const spec = engine.spec({ limits });
    const compare = async () => ({ differs: 'not' as const, env: {} });
    const open = async () => ({ sandbox: await engine.open(spec), compare, stopAgain: async () => true });
    const pool = new SandboxPool<string>({ maxOpen: 1, idleMs: 600_000, backgroundMs: 0, nameOf: (session) => session, open });
    const sandbox = pool.sandboxOf('attacked');
    await (await sandbox.exec({ command: `${keep}; ${prelude}; ${stuff}` })).exit;
    const outcomes: string[] = [];
    // The shell that waits takes one command yet.
    while (outcomes.length < 4) {
      const outcome = await sandbox.exec({ command: 'cat /workspace/kept' }).then(collect, (error: { code: string }) => error);
      outcomes.push('code' in outcome ? outcome.code : outcome.stdout);
    }
    expect(outcomes).toEqual(['kept\n', 'sandbox/lost', 'sandbox/lost', 'kept\n']);
    await sandbox.destroy();
  });

  it('reopens a sandbox with its files after shells answered in the place of others', async () => {
    await attackAndReopen(impostors, (sandbox) =>
      Promise.allSettled([briefly(sandbox, 'echo 1'), briefly(sandbox, 'echo 2'), briefly(sandbox, 'echo 3')]),
    );
  });
}
