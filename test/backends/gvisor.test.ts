import { describe, expect, it } from 'vitest';
import { findDocker } from '../../src/backends/docker/discover.ts';
import { exitsContract } from '../contracts/sandbox/exits.ts';
import { collect, sleepMark, useRig } from '../contracts/sandbox/rig.ts';
import { scriptsContract } from '../contracts/sandbox/scripts.ts';
import { variablesContract } from '../contracts/sandbox/variables.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { startGvisorEngine } from '../gvisor-engine.ts';
import { isRequired } from '../required.ts';
import { until } from '../until.ts';

const engine = await startGvisorEngine();
if ('obstacle' in engine) {
  it.skipIf(!isRequired('gvisor'))(`gVisor works on this machine: ${engine.obstacle}`, () => expect.fail(engine.obstacle));
} else {
  await describeBackend('docker', gvisorTests, {
    title: 'docker with gVisor',
    docker: { docker_host: engine.host, docker_runtime: 'runsc' },
    image: process.env.HERMETIC_TEST_IMAGE || 'hermetic-test:base',
    findEngine: () => findDocker({ environment: {}, dockerHost: engine.host }),
  });
}

/**
 * The gVisor of Debian 12 (December 2022) refuses `statx` as the coreutils of the same Debian call it, so that `ls` and `stat` fail. So of the contract
 * only the parts run that need neither.
 */
function gvisorTests(sandboxes: TestEngine): void {
  describe('variables', () => variablesContract(sandboxes));
  describe('scripts', () => scriptsContract(sandboxes));
  describe('exit codes', () => exitsContract(sandboxes));

  describe('another kernel', () => {
    const rig = useRig(sandboxes);

    it('shows commands the kernel of gVisor', async () => {
      expect(await rig.output('dmesg')).toMatch(/gVisor/);
    });

    it('says that the process limit is not enforced, and survives more threads than that', async () => {
      const check = await sandboxes.backend.check(sandboxes.spec().image);
      expect(check).toMatchObject({ usable: true, limits: { pids: { enforced: false, how: expect.stringMatching(/gVisor/) } } });
      const limited = await sandboxes.open(sandboxes.spec({ limits: { cpus: 0, memoryMb: 1024, diskMb: 0, pids: 20 } }));
      const { stdout } = await collect(await limited.exec({ command: 'for i in {1..20}; do sleep 0.2 & done; wait; echo done' }));
      expect(stdout).toBe('done\n');
      await limited.destroy();
    });

    it('cannot restrict a network, and says why', async () => {
      expect(await sandboxes.backend.canRestrict()).toMatch(/runsc has networks of its own/);
      await expect(sandboxes.open(sandboxes.spec({ network: 'restricted' }))).rejects.toMatchObject({ code: 'backend/cannot-restrict' });
    });

    it('kills a command and everything it started, also what cleared its environment, and keeps the sandbox', async () => {
      const sandbox = await sandboxes.open(sandboxes.spec());
      const [mark, other] = [sleepMark(), sleepMark()];
      await collect(await sandbox.exec({ command: `setsid sleep ${other} >/dev/null 2>&1 & export KEPT=yes` }));
      const handle = await sandbox.exec({ command: `setsid env -i sleep ${mark} & setsid sleep ${mark} & echo begun; sleep ${mark}` });
      await handle.output[Symbol.asyncIterator]().next();
      await handle.kill('KILL');
      expect(await handle.exit).toMatchObject({ kind: 'signaled', signal: 'KILL' });
      const left = 'for p in /proc/[0-9]*/cmdline; do tr "\\0" " " <$p; echo; done | grep "^sleep"; echo "$KEPT"';
      expect((await collect(await sandbox.exec({ command: left }))).stdout).toBe(`sleep ${other} \nyes\n`);
      await sandbox.destroy();
    });

    it('ends when it has been idle, and not while a program is attached', async () => {
      const sandbox = await sandboxes.open(sandboxes.spec({ idleSeconds: 2 }));
      // The first look for a program takes a second, and one that is never seen is waited for for a minute.
      expect((await collect(await sandbox.exec({ command: 'sleep 5; echo there' }))).stdout).toBe('there\n');
      await sandbox.close();
      const state = () => sandboxes.withEngine((docker) => docker.inspect(`hermetic-${sandbox.name}`));
      await until('it has ended', async () => (await state())?.running === false, { withinMs: 30_000 });
    });
  });
}
