import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { descendantsOf, startTime } from '../../src/lib/process-facts.ts';
import { until } from '../until.ts';
import { describeNamespaces } from './describe-namespaces.ts';
import { asUser, Namespace, type NamespaceOptions } from './namespace.ts';

const program = join(import.meta.dirname, 'program.ts');
/** No other program here has it. */
const uid = 61_234;
const namespaces: Namespace[] = [];
const programs: ChildProcess[] = [];

async function namespace(options?: NamespaceOptions): Promise<Namespace> {
  const made = await Namespace.make(options);
  namespaces.push(made);
  return made;
}

/** A program that opens doors. */
function start(boxes: readonly Namespace[], user?: number): { child: ChildProcess; output: () => string } {
  const words = [...(user === undefined ? [] : asUser(user)), process.execPath, program, ...boxes.map(({ place }) => place)];
  const [file = '', ...rest] = words;
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/', env });
  programs.push(child);
  let text = '';
  child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
  return { child, output: () => text };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

afterEach(async () => {
  for (const child of programs.splice(0)) await kill(child);
  for (const made of namespaces.splice(0)) await made.remove();
});

describeNamespaces('a program with open doors', () => {
  it('leaves no socket and no namespace when it is killed', async () => {
    const [box, observer] = [await namespace(), await namespace()];
    const { child, output } = start([box]);
    await until('the door is open', () => output().includes('open'));
    // Its other end disappears with the namespace.
    await observer.run('ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far', 'netns', String(box.pid));
    await kill(child);
    expect(await box.client('tcp', '127.0.0.1', 3128)).toBe('ECONNREFUSED\n');
    expect(await box.client('udp', '127.0.0.1', 53, 'a name')).toBe('ECONNREFUSED\n');
    await box.remove();
    await until('the namespace is gone', async () => !(await observer.run('ip', 'link')).includes('near'));
  });

  it('leaves no helper when it is killed while it opens doors', async () => {
    const boxes = await Promise.all([1, 2, 3].map(() => namespace({ isUp: false })));
    const { child } = start(boxes);
    const helpers = await until('the helpers run', async () => {
      const found = await descendantsOf(child.pid ?? 0);
      return found.length === boxes.length ? found : undefined;
    });
    await kill(child);
    await until('the helpers are gone', () => helpers.every((pid) => startTime(pid) === undefined));
  });

  it('ends by itself when nothing else keeps it', async () => {
    const box = await namespace();
    const { child, output } = start([box]);
    await until('the door is open', () => output().includes('open'));
    const exited = once(child, 'exit');
    child.stdin?.end();
    expect(await exited).toEqual([0, null]);
    expect(await box.client('tcp', '127.0.0.1', 3128)).toBe('ECONNREFUSED\n');
  });

  it('needs no privilege where the namespace is that of its own user', async () => {
    const box = await namespace({ uid });
    const { output } = start([box], uid);
    await until('the door is open', () => output().includes('open'));
    expect(await box.client('tcp', '127.64.0.7', 443, 'hello')).toBe('name 127.64.0.7:443 no rule\nhello\n');
    expect(await box.client('udp', '127.0.0.1', 53, 'a name')).toBe('answer to a name\n');
  });
});
