/** A program that gives spares to sessions until it is killed, and says when it has. It can be told at which step of the ledger to die. */

import { createApp } from '../../src/index.ts';

const [prefix = '', step, moment] = process.argv.slice(2) as [string, ('begin' | 'opened' | 'claim')?, ('before' | 'after')?];
const app = createApp({ environment: process.env });
const { sandboxes } = app;
if (step) {
  const { sandboxes: ledger } = await app.store();
  const real = ledger[step].bind(ledger) as (...words: unknown[]) => Promise<unknown>;
  const dying = async (...words: unknown[]): Promise<unknown> => {
    if (moment === 'after') await real(...words);
    process.kill(process.pid, 'SIGKILL');
    return await new Promise(() => undefined);
  };
  Object.assign(ledger, { [step]: dying });
}
await sandboxes.start();
for (let round = 0; ; round++) {
  const session = `${prefix}-${round}`;
  await sandboxes.prepare();
  await sandboxes.run(session, 'echo mine >> /workspace/log; setsid sleep 1000 & true');
  process.stdout.write(`${session}\n`);
  if (round % 3 === 2) await sandboxes.of(session).destroy();
  if (round % 3 === 1) await sandboxes.of(session).close();
}
