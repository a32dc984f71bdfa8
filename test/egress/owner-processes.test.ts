import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { until } from '../until.ts';
import { describeNamespaces } from './describe-namespaces.ts';
import { asUser, Namespace } from './namespace.ts';

const program = join(import.meta.dirname, 'asking-program.ts');
/** No other program here has it. */
const uid = 61_235;
const mark = '1234567000000001';
const sum = 9_000_000_000_000_000n;
const namespaces: Namespace[] = [];
const programs: ChildProcess[] = [];

afterEach(async () => {
  for (const child of programs.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  for (const made of namespaces.splice(0)) await made.remove();
});

/** Asks the proxy for a host, and prints its answer. */
const ask = (address: string, host: string): string =>
  `const s = require('node:net').connect(3128, '${address}'); s.write('CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}:443\\r\\n\\r\\n'); s.pipe(process.stdout)`;
const carry = `ulimit -x ${mark}; ulimit -m ${sum - BigInt(mark)}; `;

describeNamespaces('the process that has a connection', () => {
  it.each([
    ['root', undefined],
    ['the user who made the namespace, without any privilege', uid],
  ])('is found by %s, with its mark', async (_who, user) => {
    const box = await Namespace.make(user === undefined ? {} : { uid: user });
    namespaces.push(box);
    const as = user === undefined ? [] : asUser(user);
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    const [file = '', ...words] = [...as, process.execPath, program, box.place, mark];
    const child = spawn(file, words, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/', env });
    programs.push(child);
    let printed = '';
    child.stdout?.on('data', (data: Buffer) => (printed += data.toString()));
    await until('the door is open', () => printed.includes('open'));
    const inside = async (script: string, code: string): Promise<string> => {
      const [command = '', ...rest] = [...as, ...box.entrance.command, 'bash', '-c', `${script} exec "$@"`, 'bash'];
      return (await promisify(execFile)(command, [...rest, process.execPath, '--eval', code], { cwd: '/', env })).stdout;
    };
    expect(await inside(carry, ask('127.0.0.1', 'marked.test'))).toContain('a person was asked and said no');
    expect(await inside(carry, ask('::ffff:127.0.0.1', 'mapped.test'))).toContain('a person was asked and said no');
    expect(await inside('', ask('127.0.0.1', 'unmarked.test'))).toContain('no rule');
    expect(await inside(`${carry} ulimit -x 7;`, ask('127.0.0.1', 'broken.test'))).toContain('no rule');
    expect(await inside(`ulimit -x 1234567000000002; ulimit -m ${sum - 1234567000000002n};`, ask('127.0.0.1', 'unknown.test'))).toContain(
      'no rule',
    );
    const lines = printed.trim().split('\n').slice(1);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { host: 'marked.test', port: 443, program: expect.stringContaining('node') },
      { host: 'mapped.test', port: 443, program: expect.stringContaining('node') },
    ]);
  });
});
