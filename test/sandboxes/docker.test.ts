import { describe } from 'vitest';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';
import { containerTests } from './docker/session-container.ts';

await describeBackend('docker', (engine) => {
  sandboxContract(engine);
  describe('the container of a session', () => containerTests(engine));
});
