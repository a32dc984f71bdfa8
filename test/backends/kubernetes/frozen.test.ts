import { afterAll, expect, it } from 'vitest';
import { sleepMark } from '../../contracts/sandbox/rig.ts';
import { describeBackend, processesWith } from '../../engines.ts';
import { FakeCluster } from '../../fakes/kubernetes/cluster.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';

describeNeeding(['machines', 'openssl'], 'a cluster', async () => {
  const cluster = await FakeCluster.start();
  afterAll(() => cluster.close());

  await describeBackend(
    'kubernetes',
    (engine) => {
      it('kills the commands of a frozen program in 20 s, and neither its background processes nor commands of others', async () => {
        const spec = engine.spec();
        const sandbox = await engine.open(spec);
        const [frozen, background, other] = [sleepMark(), sleepMark(), sleepMark()];
        const handle = await sandbox.exec({ command: `sleep ${other}` });
        const commands = [
          `setsid sleep ${background} >/dev/null 2>&1 & disown; echo left`,
          `(env -i setsid sleep ${frozen} &); echo started; sleep ${frozen}`,
        ];
        const client = await engine.startClient({ spec, action: 'start', commands });
        const running = (): number[] => [frozen, background, other].map((mark) => processesWith(mark).length);
        await until('everything runs', () => String(running()) === '2,1,1');
        client.freeze();
        await until('its command is dead', () => processesWith(frozen).length === 0, { withinMs: 20_000 });
        expect(running()).toEqual([0, 1, 1]);
        await handle.kill('KILL');
        expect(await handle.exit).toEqual({ kind: 'signaled', signal: 'KILL' });
        await client.kill();
        await sandbox.destroy();
      });
    },
    {
      options: { kubernetes_kubeconfig: cluster.kubeconfig(), kubernetes_image: 'test:image' },
      image: 'test:image',
      endFromOutside: async (name) => cluster.delete(`hermetic-${name}`, 0),
    },
  );
});
