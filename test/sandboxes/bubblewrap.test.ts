import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';

await describeBackend('bubblewrap', (engine) => {
  sandboxContract(engine);
});
