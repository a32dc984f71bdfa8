import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { collect } from '../contracts/sandbox/rig.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';

await describeBackend('bubblewrap', (engine) => {
  sandboxContract(engine);

  it('hides the files of the host and of other sandboxes', async () => {
    const other = await engine.open(engine.spec());
    await other.writeFile('secret', 'hunter2');
    writeFileSync(join(engine.context.sandboxesDirectory, 'secret'), 'hunter2');
    const sandbox = await engine.open(engine.spec());
    // The programs of the host are there for all to see, and may be many.
    const searched = 'find / -path /proc -prune -o -path /sys -prune -o -path /usr -prune -o -name secret -exec grep -s hunter2 {} +';
    const command = `cat /etc/shadow '${engine.context.sandboxesDirectory}/secret'; ls '${engine.context.sandboxesDirectory}' /root; ${searched}`;
    expect(await collect(await sandbox.exec({ command }))).toMatchObject({ stdout: '' });
    await Promise.all([other.destroy(), sandbox.destroy()]);
  });

  it('reports how each limit is enforced', async () => {
    const check = await engine.backend.check();
    if (!check.usable) throw new Error(check.reason);
    for (const { enforced, how } of Object.values(check.limits))
      expect([typeof enforced, how]).toEqual(['boolean', expect.stringMatching(/\w+ \w+/)]);
  });

  it('gives a sandbox without a network only its own loopback', async () => {
    const sandbox = await engine.open(engine.spec());
    expect((await collect(await sandbox.exec({ command: 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "' }))).stdout).toBe('lo\n');
    await sandbox.destroy();
  });
});
