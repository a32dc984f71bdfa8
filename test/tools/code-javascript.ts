import { beforeAll, expect, it } from 'vitest';
import type { TestEngine } from '../engines.ts';
import { useCode } from './code-rig.ts';

export function javascriptTests(engine: TestEngine): void {
  const code = useCode(engine);
  let hasNode = false;
  beforeAll(async () => {
    hasNode = await code.rig.succeeds('command -v node || command -v nodejs');
  });
  const output = (script: string) => code.output('javascript', script);
  const inNode = (title: string, body: () => Promise<void>): void => {
    it(title, async ({ skip }) => {
      if (!hasNode) skip('there is no Node in this sandbox');
      await body();
    });
  };

  it('reports that Node is missing', async ({ skip }) => {
    if (hasNode) skip('there is Node in this sandbox');
    const result = await code.call('javascript', 'console.log(1)');
    expect(result).toMatchObject({
      ok: false,
      failure: 'failed',
      text: expect.stringMatching(/no Node\.js 18 or newer.*apt-get install nodejs/),
    });
  });

  inNode('refuses a Node that is too old', async () => {
    const preload = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '16.1.0' } });`;
    await code.rig.output(`mkdir -p old; cat >old/preload.cjs <<'END'\n${preload}\nEND
printf '#!/bin/bash\\nexec "%s" -r "%s" "$@"\\n' "$(type -P node || type -P nodejs)" "$PWD/old/preload.cjs" >old/node
chmod +x old/node; export saved_path=$PATH; PATH=$PWD/old:$PATH`);
    const result = await code.call('javascript', 'console.log(1)');
    await code.rig.output('PATH=$saved_path; unset saved_path');
    const text = expect.stringMatching(/no Node\.js 18 or newer in this sandbox \(.* is Node\.js 16\.1\.0\)\. The script was not run\./);
    expect(result).toMatchObject({ ok: false, failure: 'failed', text });
  });

  inNode('passes 700 kB both ways in JavaScript', async () => {
    const script = `const text = 'ü=-a'.repeat(140000);
console.log((await echo_text(text)).text === text, (await echo_text({ text })).text === text);`;
    expect(await code.output('javascript', script, { maxBytes: 1_000_000 })).toBe('true true\n');
  });

  inNode('passes values by order and by name in JavaScript, and returns promises', async () => {
    const script = `
import { echo_text as echo, ToolError as Failure } from 'hermetic_tools';
console.log(JSON.stringify(await echo('a', 2, { parts: [1, null, { k: ['ü', '😀'] }] })));
console.log((await echo_text({ text: 'b', loud: true })).text, Failure === ToolError);
const answers = await Promise.all([3, 1, 2].map((n) => command('sleep 0.' + n + '; echo ' + n)));
console.log(answers.map(({ output }) => output.trim()).join());
await echo(5).catch((error) => console.log(error instanceof ToolError, error.failure));
await echo('a', { tims: 1 }).catch((error) => console.log(String(error)));`;
    expect(await output(script)).toBe(
      '{"text":"aa","parts":[1,null,{"k":["ü","😀"]}]}\nB true\n3,1,2\ntrue bad-input\nTypeError: echo_text() takes text, times, loud, parts; not tims\n',
    );
  });

  inNode('runs JavaScript as a module that can import and require', async () => {
    await code.rig.output(
      `echo 'export const value = 5;' >beside.mjs; echo 'module.exports = 6;' >beside.cjs; echo '{"a":7}' >beside.json`,
    );
    const script = `
import { basename } from 'node:path';
import * as beside from './beside.mjs';
import six from './beside.cjs';
const { value } = await import('./beside.mjs');
const { default: dynamic } = await import('./beside.json', { with: { type: 'json' } });
console.log(beside.value, six, value, require('./beside.json').a, dynamic.a, require('os') !== undefined, basename(import.meta.url), process.execArgv.length);`;
    expect(await output(script)).toBe('5 6 5 7 7 true script.mjs 0\n');
  });

  inNode('passes a long text both ways in JavaScript', async () => {
    const script = `
const text = 'long ü\\n'.repeat(200_000);
console.log((await echo_text(text)).text === text, (await echo_text('x', 3_000_000)).text.length);`;
    expect(await output(script)).toBe('true 3000000\n');
  });

  inNode('shows only script lines in an uncaught JavaScript error', async () => {
    const script = `async function inner() {
  await echo_text(7);
}
await inner();`;
    const { status, exit_code, output } = await code.run('javascript', script);
    expect({ status, exit_code }).toEqual({ status: 'error', exit_code: 1 });
    expect(output).toMatch(
      /^script\.mjs:2\n {2}await echo_text\(7\);\n {8}\^\n\nToolError: .*\n {4}at inner \(script\.mjs:2:9\)\n {4}at script\.mjs:4:7\n$/,
    );
  });

  inNode('shows the line of a syntax error in JavaScript', async () => {
    const { exit_code, output } = await code.run('javascript', 'const x = 1;\nlet y = ;\n');
    expect(exit_code).toBe(1);
    expect(output).toMatch(/^script\.mjs:2\nlet y = ;\n {8}\^\n\n\[?SyntaxError: Unexpected token ';'/);
    expect(output).not.toContain('eval1');
  });

  inNode('fails a script with an uncaught error, a rejection or a promise that never settles', async () => {
    const late = await code.run('javascript', `setTimeout(() => {\n  throw new Error('late');\n}, 10);`);
    expect(late).toMatchObject({ status: 'error', exit_code: 1, output: expect.stringMatching(/^script\.mjs:2\n[\s\S]*Error: late\n/) });
    const rejected = await code.run('javascript', `void echo_text(5);\nawait command('sleep 0.1');`);
    expect(rejected).toMatchObject({ status: 'error', exit_code: 1, output: expect.stringContaining('script.mjs:1:6') });
    const never = await code.run('javascript', 'await new Promise(() => undefined)');
    expect(never).toMatchObject({ status: 'error', exit_code: 13, output: expect.stringContaining('never happens') });
  });

  inNode('exits when the JavaScript script has nothing more to do, or with its code', async () => {
    expect(await code.run('javascript', 'process.exit(7)')).toMatchObject({ exit_code: 7, output: '' });
    expect(await code.run('javascript', 'process.exitCode = 8')).toMatchObject({ exit_code: 8, output: '' });
    const script = `void command('sleep 0.2; echo done').then(({ output }) => console.log(output));`;
    expect(await output(script)).toBe('done\n\n');
  });
}
