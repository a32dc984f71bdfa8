import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { backendOf } from '../backends.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';

await describeBackend('local', (engine) => {
  sandboxContract(engine);

  it('gives a command an environment of its own, not that of the program', async () => {
    const environment = {
      ...engine.context.environment,
      SECRET_API_KEY: 'hunter2',
      LD_PRELOAD: '',
      BASH_ENV: '/nonexistent',
      'BASH_FUNC_ls%%': '() { echo no; }',
    };
    const backend = backendOf('local', { ...engine.context, environment });
    const sandbox = await backend.open(engine.spec({ env: { WANTED: 'yes' } }), { notice: () => undefined, progress: () => undefined });
    const names = (await collect(await sandbox.exec({ command: 'compgen -e; echo "$WANTED"' }))).stdout.split('\n');
    expect(names).toEqual(expect.arrayContaining(['PATH', 'HOME', 'WANTED', 'yes']));
    expect(names.filter((name) => /SECRET|LD_|BASH_ENV|VITEST|npm_|NODE_/.test(name))).toEqual([]);
    await sandbox.destroy();
  });

  it('warns that the local backend isolates nothing and enforces no limit', async () => {
    const check = await engine.backend.check();
    expect(check).toMatchObject({ usable: true, notes: [expect.stringMatching(/^Warning: .*host/)] });
    const told = engine.notices.length;
    await (await engine.open(engine.spec({ limits: { cpus: 1, memoryMb: 64, diskMb: 0, pids: 10 } }))).destroy();
    expect(engine.notices.slice(told).join('\n')).toMatch(
      /cpu limit is not enforced.*memory limit is not enforced.*process limit is not enforced/s,
    );
  });

  it('protects a local command from Ctrl-C at the terminal of the program', async () => {
    const sandbox = await engine.open(engine.spec());
    const { stdout } = await collect(await sandbox.exec({ command: 'cat /proc/self/stat' }));
    const sessionOf = (stat: string): string | undefined => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
    expect(sessionOf(stdout)).not.toBe(sessionOf(readFileSync('/proc/self/stat', 'utf8')));
    await sandbox.destroy();
  });
});
