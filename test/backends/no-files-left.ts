import { closeSync, openSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { probe } from '../../src/backends/bubblewrap/probe.ts';
import { backendDrivers } from '../../src/backends/index.ts';
import { enforcementHere } from '../../src/backends/namespaces/enforcement-here.ts';
import { directoryBytes, removeTree } from '../../src/backends/sandbox-directory.ts';
import { EgressThread } from '../../src/egress/thread.ts';
import { startWitness } from '../../src/proof/bait.ts';

// A program that may open only a few more files, and then one more than that, and so on. It starts everything that starts a process.
const directory = await mkdtemp(join(tmpdir(), 'hermetic-no-files-left-'));
const egress = new EgressThread(() => ({ allow: [], deny: [], private: [], directPorts: [], notesAllowed: false }));
const context = { sandboxesDirectory: directory, installation: 'ab', environment: { PATH: process.env.PATH }, egress };
const local = backendDrivers.find(({ kind }) => kind === 'local')?.create(context, {});
const attempts: Record<string, () => Promise<unknown>> = {
  probe: () => probe('open'),
  restricted: () => probe({ egress }),
  enforcement: () => enforcementHere('bubblewrap'),
  witness: async () => await (await startWitness()).remove(),
  size: () => directoryBytes(directory),
  removal: () => removeTree(join(directory, 'nothing')),
  check: async () => await local?.check(),
};
const opened: number[] = [];
for (let free = 0; free <= 24; free += 2) {
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {
    for (const descriptor of opened.splice(0, free)) closeSync(descriptor);
  }
  for (const [name, attempt] of Object.entries(attempts)) {
    const end = await attempt().then(
      () => 'answered',
      () => 'rejected',
    );
    process.stdout.write(`${name} ${end}\n`);
  }
}
for (const descriptor of opened) closeSync(descriptor);
await removeTree(directory);
process.stdout.write('alive\n');
