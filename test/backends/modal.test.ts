import { afterAll, describe } from 'vitest';
import { backgroundContract } from '../contracts/sandbox/background.ts';
import { killContract } from '../contracts/sandbox/kill.ts';
import { lifecycleContract } from '../contracts/sandbox/lifecycle.ts';
import { describeBackend, type TestEngine } from '../engines.ts';
import { endings } from '../fakes/modal/sandbox.ts';
import { FakeModal } from '../fakes/modal/server.ts';
import { describeNeeding } from '../needs.ts';

describeNeeding(['machines'], 'a fake of Modal', async () => {
  const fake = await FakeModal.start();
  afterAll(() => fake.close());

  await describeBackend('modal', modalTests, {
    environment: { ...fake.environment, PATH: process.env.PATH },
    image: 'test:image',
    endFromOutside: async (name) => {
      for (const one of fake.running) if (one.tags.some(({ tagValue }) => tagValue === name)) one.end(endings.terminated);
    },
  });
});

/**
 * The parts of the contract that depend on how commands are reached and where a sandbox lives; the others are about shells, which other backends test by the
 * same streams. Of the exits one promise cannot hold: files that were written since the last snapshot end with a sandbox that Modal ends.
 */
function modalTests(engine: TestEngine): void {
  describe('background processes', () => backgroundContract(engine));
  describe('killing commands', () => killContract(engine));
  describe('the lifecycle of a sandbox', () => lifecycleContract(engine));
}
