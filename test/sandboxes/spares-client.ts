/** A program that gives spares to sessions until it is killed, and says when it has. */

import { createApp } from '../../src/index.ts';

const [prefix = ''] = process.argv.slice(2);
const { sandboxes } = createApp({ environment: process.env });
await sandboxes.start();
for (let round = 0; ; round++) {
  const session = `${prefix}-${round}`;
  await sandboxes.prepare();
  await sandboxes.run(session, 'echo mine >> /workspace/log; setsid sleep 1000 & true');
  process.stdout.write(`${session}\n`);
  if (round % 3 === 2) await sandboxes.of(session).destroy();
  if (round % 3 === 1) await sandboxes.of(session).close();
}
