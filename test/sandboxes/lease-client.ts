/** A program that has a sandbox open, with a command that runs in it, until it is killed. Runs what it is told, and says what happens. */

import { createInterface } from 'node:readline';
import { createApp } from '../../src/index.ts';
import { openSandbox } from '../../src/sandboxes/open.ts';
import { cliSession } from '../../src/sandboxes/request.ts';

const [backend = '', session = '', leaseMs = ''] = process.argv.slice(2);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const app = createApp({ environment: process.env });
const deps = { ...app.deps, leaseMs: Number(leaseMs) };
const request = { ...cliSession(session), backend, isEphemeral: true };
const listener = { notice: (notice: string) => say({ notice }), progress: () => undefined };
const { sandbox, spec } = await openSandbox(deps, request, listener);
const running = await sandbox.exec({ command: 'sleep 1000' });
void running.exit.then((exit) => say({ exit }));
say({ name: spec.name, directory: spec.directory });
for await (const command of createInterface(process.stdin)) {
  const handle = await sandbox.exec({ command });
  let output = '';
  for await (const { data } of handle.output) output += data.toString();
  say({ output, exit: await handle.exit });
}
