import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';

await describeBackend('local', (engine) => {
  sandboxContract(engine);
});
