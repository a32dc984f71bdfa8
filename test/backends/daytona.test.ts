import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { labelNames } from '../../src/backends/cloud/labels.ts';
import { backgroundContract } from '../contracts/sandbox/background.ts';
import { exitsContract } from '../contracts/sandbox/exits.ts';
import { killContract } from '../contracts/sandbox/kill.ts';
import { lifecycleContract } from '../contracts/sandbox/lifecycle.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { FakeDaytona } from '../fakes/daytona/cloud.ts';
import { describeNeeding } from '../needs.ts';

describeNeeding(['machines'], 'a fake of Daytona', async () => {
  const cloud = await FakeDaytona.start();
  afterAll(() => cloud.close());

  const sandboxOf = (name: string) => cloud.left.find(({ wishes }) => wishes.labels?.[labelNames.name] === name);

  /**
   * The parts that the gateway, the folded streams and the life of a sandbox at Daytona can break. The state of a shell and files are the same as for every
   * other backend by streams; bytes, sizes and ends of streams are tested with the provider.
   */
  function contract(engine: TestEngine): void {
    describe('background processes', () => backgroundContract(engine));
    describe('killing commands', () => killContract(engine));
    describe('exit codes', () => exitsContract(engine));
    describe('the lifecycle of a sandbox', () => lifecycleContract(engine));

    it('remembers the key of the gateway where no list of sandboxes finds it', async () => {
      const sandbox = await engine.open(engine.spec());
      expect(readFileSync(join(engine.context.sandboxesDirectory, 'daytona-known-hosts'), 'utf8')).toContain('ssh-');
      expect((await engine.backend.list()).filter(({ name }) => !name.startsWith('test-'))).toEqual([]);
      await sandbox.destroy();
    });
  }

  await describeBackend('daytona', contract, {
    options: { daytona_image: 'test:image' },
    environment: { ...process.env, ...cloud.environment },
    image: 'test:image',
    isFolded: true,
    // What is printed is held by the channel, the gateway and the kernel's sockets between them.
    maxBytesAhead: 32 * 1024 * 1024,
    endFromOutside: async (name) => void (await sandboxOf(name)?.stop(Date.now())),
  });
});
