import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { TestEngine } from '../../engines.ts';
import { passTime } from './pass-time.ts';
import { briefly, command, limits, useAttackRig, worksOrIsLost } from './rig.ts';

const seconds = 1.5;

/** A frame of its own with the shell's own nonce, as often as possible. `nonce`, `kind` and `text` are set. */
const repeated = `
printf -v frame '\\036%s%s%d:%s\\036%s.' $nonce $kind \${#text} "$text" $nonce
while ((\${#frame} < 50000)); do frame+=$frame; done
timeout ${seconds} bash -c 'while :; do printf %s "$0"; done' "$frame"`;

const floods: Record<string, string> = {
  'records that wait for a mark': `kind=r text='E 0'; ${repeated} >&242`,
  'records of no kind': `kind=r text=x; ${repeated} >&242`,
  'pieces of a state': `kind=p; printf -v text %3900s; ${repeated} >&242`,
  'whole states': `kind=s text="00:\\$'$nonce$nonce$nonce$nonce$nonce$nonce$nonce'"; text="$((\${#text} - 3))\${text:2}"; ${repeated} >&242`,
  marks: `kind=m; printf -v text %3000s; ${repeated} >&241`,
  'frames that never end': `timeout ${seconds} bash -c 'printf -v start "\\036%sp9999:" $0; for ((i = 0; i < 8; i++)); do start+=$start; done; while :; do printf %s "$start"; done' $nonce >&242`,
};

/** Every process that signals for the host. */
const tethers = `tethers=(); for limits in /proc/[0-9]*/limits; do
  if grep -q 'Max file locks            70000001 ' $limits; then tethers+=(\${limits//[!0-9]/}); fi
done 2>/dev/null`;

/** For sandboxes whose shells are reached by their streams alone. */
export function frameAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  it.each(Object.entries(floods))('keeps other sessions responsive under a flood of %s', async (_, flood) => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      const attack = await sandbox.exec({ command: `nonce=$__hermetic_nonce; ${flood}` });
      const timer = setTimeout(() => void attack.kill('KILL'), 4_000);
      for await (const _ of attack.output);
      await attack.exit;
      clearTimeout(timer);
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('survives a command that keeps killing the process which signals for the host', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      const attack = await sandbox.exec({ command: `while :; do ${tethers}; kill -9 "\${tethers[@]}"; sleep 0.05; done 2>/dev/null` });
      await delay(2_000);
      await passTime(() => attack.kill('KILL'));
      await attack.exit;
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('bounds memory while killed processes go on printing', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      // Nobody reads the output, the order to kill is answered by the one who is to be killed, and he has another number by then.
      const attack = await sandbox.exec({
        command: `${tethers}; kill -STOP "\${tethers[@]}"; ulimit -x 5; sleep 1; (for ((i = 1; i < 50; i++)); do echo "killed $i 0"; done) >/proc/\${tethers[0]}/fd/1; exec cat /dev/zero`,
      });
      await delay(500);
      await attack.kill('KILL');
      await attack.exit;
      for await (const _ of attack.output);
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it.each([
    ['sleeps', 'exec sleep 1000'],
    ['prints without end', 'exec cat /dev/zero'],
  ])('replaces a sandbox whose bash %s, without blocking its users', async (_, body) => {
    const spec = engine.spec({ limits });
    const sandbox = await engine.open(spec);
    const replaceBash = `printf '#!/bin/sh\n${body}\n' >/tmp/bash; chmod 755 /tmp/bash; mv -f /tmp/bash /bin/bash`;
    await command(sandbox, `echo kept >kept; ${replaceBash}`);
    await rig.withstand(async () => {
      await passTime(() => Promise.allSettled([briefly(sandbox, 'echo 1'), briefly(sandbox, 'echo 2')]));
      await passTime(() => sandbox.close());
    });
    const again = await passTime(() => engine.open(spec));
    expect((await command(again, 'cat kept')).stdout).toBe('kept\n');
    await again.destroy();
  });
}
