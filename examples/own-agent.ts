/**
 * The tools of Hermetic under an agent of your own. The "model" here is a script, so that this runs without a key:
 *
 *     node_modules/.bin/node --conditions=hermetic-source examples/own-agent.ts
 */
import { createSandboxes, createToolbox } from 'hermetic';

/** What a model would ask for, one call after another. */
const wishes: [tool: string, input: unknown][] = [
  ['terminal', { command: 'mkdir -p notes && cd notes && echo "first line" >log.txt && pwd' }],
  ['edit_file', { path: 'log.txt', edits: [{ old_text: 'first', new_text: 'changed' }] }],
  ['execute_code', { language: 'bash', code: 'terminal "wc -l log.txt"; read_file log.txt' }],
  ['terminal', { comand: 'a mistake comes back as words the model can act on' }],
];

const environment = process.env;
const toolbox = createToolbox({ environment, session: 'example' });
console.log(`${toolbox.tools.length} tools: ${toolbox.tools.map(({ name }) => name).join(', ')}`);
for (const [tool, input] of wishes) {
  const { ok, text } = await toolbox.call(tool, input, { signal: AbortSignal.timeout(60_000) });
  console.log(`${tool} ${ok ? 'says' : 'refuses'}: ${text.trimEnd()}`);
}
await toolbox.close();

// The same session without a model: what the tools did is there.
const sandboxes = createSandboxes({ environment });
const { stdout } = await sandboxes.run('example', 'pwd; cat log.txt');
console.log(stdout.trimEnd());
await sandboxes.of('example').destroy();
await sandboxes.close();
