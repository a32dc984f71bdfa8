/**
 * A program that uses a sandbox, for tests of what happens when such a program dies, and of how much memory it needs. Its task comes as
 * JSON on the command line; it prints one line of JSON when that is done and then waits to be killed.
 */

import type { OpenSandbox, SandboxSpec } from '../src/core/sandbox.ts';
import { backendOf, strictEgress, type TestContext } from './backends.ts';

export interface Task {
  kind: string;
  /** A thread cannot be handed over. */
  context: Omit<TestContext, 'egress'>;
  spec: SandboxSpec;
  /**
   * `start`: runs each command to its end, and the last until it has printed or ended, and tells what each printed first.
   * `measure`: reads the output of the last and says how memory grew.
   */
  action: 'start' | 'measure';
  commands: readonly string[];
}

const { kind, context, spec, action, commands } = JSON.parse(process.argv[2] ?? '') as Task;
const sandbox = await backendOf(kind, { ...context, egress: strictEgress() }).open(spec, {
  notice: () => undefined,
  progress: () => undefined,
});
const answer = action === 'start' ? await startAll(sandbox) : await measure(sandbox);
console.log(JSON.stringify(answer));
setInterval(() => undefined, 60_000);

async function startAll(opened: OpenSandbox): Promise<string[]> {
  const printed: string[] = [];
  for (const command of commands) {
    const handle = await opened.exec({ command });
    const { value } = await handle.output[Symbol.asyncIterator]().next();
    // What a command leaves behind is part of what runs until that has ended.
    if (printed.push(value?.data.toString() ?? '') < commands.length) await handle.exit;
  }
  return printed;
}

/** How many bytes came, and by how many the memory of this process grew meanwhile over what it had after a first, smaller round. */
async function measure(opened: OpenSandbox): Promise<{ bytes: number; grownBy: number }> {
  let bytes = 0;
  let most = 0;
  let before = 0;
  for (const command of commands) {
    global.gc?.();
    before = process.memoryUsage.rss();
    bytes = 0;
    most = before;
    const handle = await opened.exec({ command });
    for await (const { data } of handle.output) {
      bytes += data.length;
      most = Math.max(most, process.memoryUsage.rss());
    }
    await handle.exit;
  }
  return { bytes, grownBy: most - before };
}
