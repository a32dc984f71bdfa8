/** A program that uses sandboxes until it is killed: opens, runs, closes, and says what it is about to do. */

import { createApp } from '../../src/index.ts';
import { cliSession } from '../../src/sandboxes/request.ts';

const [backend = '', session = ''] = process.argv.slice(2);
const app = createApp({ environment: process.env });
const quiet = { notice: () => undefined, progress: () => undefined };
for (let round = 0; ; round++) {
  const { sandbox } = await app.openSandbox({ ...cliSession(session), backend }, quiet);
  for (const command of [`echo ${round} >> /workspace/log`, 'setsid sleep 1000 & true', 'echo begun; head -c 100000 /dev/zero | wc -c']) {
    const handle = await sandbox.exec({ command });
    for await (const _ of handle.output);
    await handle.exit;
  }
  process.stdout.write(`round ${round}\n`);
  if (round % 3 === 2) await sandbox.destroy();
  else await sandbox.close();
}
