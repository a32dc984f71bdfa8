import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import type { AttachedCommand } from '../../src/shell/streams/attached-command.ts';
import { foldedCommand, unfold } from '../../src/shell/streams/folded-command.ts';
import { until } from '../until.ts';

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

async function start(...command: string[]): Promise<{ child: ChildProcessWithoutNullStreams; attached: AttachedCommand }> {
  const [program = '', ...args] = await foldedCommand(command);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH } });
  const { stdin, stdout } = child;
  const attached = unfold({ stdin, stdout, ref: () => child.ref(), unref: () => child.unref(), destroy: () => stdout.destroy() });
  return { child, attached };
}

async function read(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function outcome({ stdout, stderr }: AttachedCommand): Promise<[Buffer, Buffer]> {
  return Promise.all([read(stdout), read(stderr)]);
}

it('passes every byte both ways, keeps the two outputs apart and tells the exit code', async () => {
  const { child, attached } = await start('bash', '-c', 'tee /dev/stderr; exit 7');
  attached.stdin.end(everyByte);
  expect(await outcome(attached)).toEqual([everyByte, everyByte]);
  expect(await attached.exitCode()).toBe(7);
  expect(await read(child.stderr)).toEqual(Buffer.alloc(0));
});

it('ends the input of a command, which goes on printing', async () => {
  const { attached } = await start('bash', '-c', 'cat; echo the input has ended; sleep 0.1; echo more');
  attached.stdin.write('first ');
  attached.stdin.end('second ');
  const [stdout] = await outcome(attached);
  expect(stdout.toString()).toBe('first second the input has ended\nmore\n');
});

it('passes megabytes both ways', async () => {
  const { attached } = await start('cat');
  const data = Buffer.concat(Array.from({ length: 12_000 }, () => everyByte));
  attached.stdin.end(data);
  const [stdout] = await outcome(attached);
  expect(stdout.equals(data)).toBe(true);
});

it('leaves an output open as long as a process has it', async () => {
  const { attached } = await start('bash', '-c', '(sleep 0.3; echo late) & exit 3');
  const [stdout, stderr] = await outcome(attached);
  expect([stdout.toString(), stderr.toString(), await attached.exitCode()]).toEqual(['late\n', '', 3]);
});

it('holds a command up whose output is not read', async () => {
  const { child, attached } = await start('bash', '-c', 'while printf %65536s; do printf . >&2; done');
  let steps = 0;
  attached.stderr.on('data', (chunk: Buffer) => {
    steps += chunk.length;
  });
  await until('nothing more arrives', async () => {
    const before = steps;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return before > 0 && steps === before;
  });
  expect(steps).toBeLessThan(32);
  attached.destroy();
  await once(child, 'close');
});

it('leaves no process behind when the other end goes away', async () => {
  const { child, attached } = await start('bash', '-c', 'while sleep 0.05; do echo more; done');
  await once(attached.stdout, 'data');
  attached.destroy();
  await once(child, 'close');
});

it.each([
  ['the streams end before the command does', '1eA==\n', 'cut'],
  ['a line is not one of a folded command', 'Welcome to the machine!\n', 'cut'],
  ['something comes after the end of an output', '1\n1eA==\n', 'cut'],
  ['a line has no end', 'x'.repeat(200_000), 'cut'],
  ['the code is missing', '1\n2\n', 'whole'],
])('fails, and does not report an exit, when %s', async (_, text, kind) => {
  const stdout = new PassThrough();
  const stdin = new Writable({ write: (_chunk, _encoding, done) => done() });
  const attached = unfold({ stdin, stdout, ref: () => undefined, unref: () => undefined, destroy: () => stdout.destroy() });
  const closed = once(stdout, 'close');
  stdout.end(text);
  if (kind === 'cut') await expect(outcome(attached)).rejects.toMatchObject({ code: 'sandbox/lost' });
  await closed;
  expect(await attached.exitCode()).toBeUndefined();
});
