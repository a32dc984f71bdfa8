import { it } from 'vitest';
import type { ExecHandle, OpenSandbox } from '../../../src/core/sandbox.ts';
import type { TestEngine } from '../../engines.ts';
import { limits, useAttackRig, worksOrIsLost } from './rig.ts';

/** What an attacker writes without end. */
const floods: Record<string, string> = {
  zeros: 'cat /dev/zero',
  'one endless line': `tr '\\0' x </dev/zero`,
  records: String.raw`yes $'R\nT /etc/passwd\n\nkilled 1 0\nkilled 2 0\nhello\nX 0\nF x\nR'`,
};

const seconds = 1.2;

/** Writes the flood into every pipe there is of one kind, those of this very command and of the waiting shell among them. */
const floodScript = `
for pipe in $(eval "ls -d /run/hermetic/*/$1"); do
  { timeout ${seconds} bash -c "$2" 1<>"$pipe"; } 2>/dev/null &
done
sleep ${seconds}`;

export function pipeAttacks(engine: TestEngine): void {
  const rig = useAttackRig(engine);

  it.each([
    ['zeros', 'records', '[0-9].end'],
    ['records', 'records', '[0-9].end'],
    ['zeros', 'states', '[0-9].state'],
    ['one endless line', 'states', '[0-9].state'],
    ['one endless line', 'answers', 'events'],
    ['records', 'answers', 'events'],
    ['zeros', 'output', '[0-9].{out,err}'],
  ])('keeps other sessions responsive under a flood of %s in every pipe for %s', async (flood, _, pipes) => {
    // With a processor to itself an attacker only proves that there are two.
    const sandbox = await rig.open({ limits: { ...limits, cpus: 1 } });
    await rig.withstand(async () => {
      const attack = await sandbox.exec({ command: floodScript, args: [pipes, floods[flood] ?? ''] });
      const beside = Promise.all([1, 2, 3].map(() => runBeside(sandbox)));
      await swallow(attack);
      await attack.kill('KILL');
      await beside;
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });

  it('does not reread an incomplete state for every record', async () => {
    const sandbox = await rig.open();
    await rig.withstand(async () => {
      const attack = await sandbox.exec({
        command: `head -c 3000000 /dev/zero | tr '\\0' x 1<>"$__hermetic_at.state"; yes R | head -c 60000 1<>"$__hermetic_at.end"; sleep 0.3`,
      });
      await swallow(attack);
    });
    await worksOrIsLost(sandbox);
    await sandbox.destroy();
  });
}

/** A command of somebody else in the same sandbox: it ends, if only because it is killed. */
async function runBeside(sandbox: OpenSandbox): Promise<void> {
  const handle = await sandbox.exec({ command: 'echo beside' });
  const timer = setTimeout(() => void handle.kill('KILL'), seconds * 1000);
  await swallow(handle);
  clearTimeout(timer);
}

async function swallow(handle: ExecHandle): Promise<void> {
  for await (const _ of handle.output);
  await handle.exit;
}
