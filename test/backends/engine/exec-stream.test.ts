import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { openExec } from '../../../src/backends/engine/exec-stream.ts';
import { launchContainer } from '../../../src/backends/engine/launch.ts';
import { until } from '../../until.ts';
import { fakeEngine } from './fake-engine.ts';
import { bodyFor, realEngine, run } from './real-engine.ts';

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const hello = Buffer.from([1, 0, 0, 0, 0, 0, 0, 5, ...Buffer.from('hello')]);

function fakeExec(upgrade: (socket: Socket) => void) {
  return fakeEngine({ 'POST /containers/c/exec': { status: 201, body: { Id: 'e' } } }, '1.41', upgrade);
}

describe('the stream of a command', () => {
  it('reports a command as lost when the connection is cut inside a frame', async () => {
    await using fake = await fakeExec((socket) => socket.end(hello.subarray(0, 10)));
    const exec = await openExec(fake.engine, 'c', { command: ['true'] });
    await expect(text(exec.stdout)).rejects.toMatchObject({ code: 'sandbox/lost' });
  });

  it('reports a command as lost when the stream holds no frame', async () => {
    await using fake = await fakeExec((socket) => socket.write('{"message":"surprise"}'));
    const exec = await openExec(fake.engine, 'c', { command: ['true'] });
    await expect(text(exec.stdout)).rejects.toMatchObject({ code: 'sandbox/lost' });
  });

  it('ends the output after a whole frame while the other stream stays unread', async () => {
    await using fake = await fakeExec((socket) => socket.end(hello));
    const exec = await openExec(fake.engine, 'c', { command: ['true'] });
    expect(await text(exec.stdout)).toBe('hello');
  });

  it('delivers all output when the engine closes with input unread', async () => {
    const many = Buffer.concat(Array.from({ length: 5000 }, () => hello));
    await using fake = await fakeExec((socket) => {
      socket.pause();
      socket.write(many, () => setTimeout(() => socket.destroy(), 20));
    });
    const exec = await openExec(fake.engine, 'c', { command: ['true'] });
    exec.stdin.write(Buffer.alloc(100_000));
    await delay(100);
    const late = new Promise((resolve) => exec.stdin.write(Buffer.alloc(1_000_000), resolve));
    await delay(50);
    expect((await text(exec.stdout)).length).toBe(25_000);
    expect(await late).toBeInstanceOf(Error);
  });

  it('refuses a command when the engine refuses', async () => {
    await using fake = await fakeEngine({ 'POST /containers/c/exec': { status: 409, body: { message: 'Container c is not running' } } });
    await expect(openExec(fake.engine, 'c', { command: ['true'] })).rejects.toMatchObject({ code: 'sandbox/lost' });
  });
});

const real = await realEngine();
describe.skipIf(real.skip)(`commands in a real container ${real.skip}`, () => {
  const { engine } = real;
  let id: string;
  beforeAll(async () => {
    id = await launchContainer(engine, `test-${crypto.randomUUID()}`, bodyFor(real));
  });

  it('separates both streams of a command and returns its exit code', async () => {
    expect(await run(engine, id, 'echo out; echo err >&2; exit 7')).toEqual({ stdout: 'out\n', stderr: 'err\n', code: 7 });
  });

  it('passes environment, user and directory to a command unchanged', async () => {
    const value = 'a "b" $HOME `id` \n ü';
    const options = { env: { VALUE: value }, user: '65534:65534', workdir: '/tmp' };
    expect((await run(engine, id, 'printf "%s|%s|%s" "$VALUE" "$(id -u):$(id -g)" "$PWD"', options)).stdout).toBe(
      `${value}|65534:65534|/tmp`,
    );
  });

  it('ends the input of a command that goes on printing', async () => {
    const exec = await openExec(engine, id, { command: ['bash', '-c', 'wc -c; sleep 0.2; echo later'] });
    exec.stdin.write(Buffer.alloc(300_000));
    exec.stdin.end('!');
    expect(await text(exec.stdout)).toBe('300001\nlater\n');
    expect(await exec.inspect()).toMatchObject({ running: false, exitCode: 0 });
  });

  it('passes any bytes through a command', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));
    const exec = await openExec(engine, id, { command: ['cat'] });
    exec.stdin.end(bytes);
    const chunks: Buffer[] = [];
    for await (const chunk of exec.stdout) {
      chunks.push(chunk);
    }
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });

  it('delivers the output of a command that never reads its input', async () => {
    const exec = await openExec(engine, id, { command: ['bash', '-c', 'exec 0</dev/null; seq 1 100000'] });
    const feeding = (async () => {
      while (!exec.stdin.destroyed) {
        await new Promise((resolve) => exec.stdin.write(Buffer.alloc(65_536), resolve));
      }
    })();
    await delay(500);
    let length = 0;
    for await (const chunk of exec.stdout) {
      length += chunk.length;
      await delay(1);
    }
    expect(length).toBe(588_895);
    await feeding;
    expect(await exec.inspect()).toMatchObject({ exitCode: 0 });
  });

  it('reports a command as running until it ends', async () => {
    const exec = await openExec(engine, id, { command: ['bash', '-c', 'echo up; read line; exit 3'] });
    for await (const chunk of exec.stdout) {
      expect(String(chunk)).toBe('up\n');
      expect(await exec.inspect()).toMatchObject({ running: true, exitCode: undefined, pid: expect.any(Number) });
      exec.stdin.end();
    }
    expect(await exec.inspect()).toMatchObject({ running: false, exitCode: 3 });
  });

  it('runs a command on a terminal of the given size, and resizes it', async () => {
    const script =
      '[ -t 1 ] && echo terminal; while :; do size=$(stty size); echo "$size"; [ "$size" = "30 100" ] && exit 4; sleep 0.05; done';
    const exec = await openExec(engine, id, { command: ['bash', '-c', script], terminal: { columns: 91, rows: 17 } });
    let seen = '';
    let resized = false;
    for await (const chunk of exec.stdout) {
      seen += chunk;
      if (seen.includes('17 91\r\n') && !resized) {
        resized = true;
        await exec.resize({ columns: 100, rows: 30 });
      }
    }
    expect(seen).toMatch(/^terminal\r\n(0 0\r\n)*(17 91\r\n)+30 100\r\n$/);
    expect(await text(exec.stderr)).toBe('');
    expect(await exec.inspect()).toMatchObject({ exitCode: 4 });
  });

  it('pauses a command while its reader is slow, in bounded memory', async () => {
    const total = 100_000_000;
    const exec = await openExec(engine, id, { command: ['bash', '-c', `head -c ${total} /dev/zero; echo done >&2`] });
    let finished = false;
    exec.stderr.on('data', () => {
      finished = true;
    });
    await delay(500);
    expect(finished).toBe(false);
    expect(exec.stdout.readableLength).toBeLessThan(512 * 1024);
    // What is merely not collected yet is no growth.
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const measure = () => {
      collect();
      return process.memoryUsage.rss();
    };
    const before = measure();
    let length = 0;
    let pausedAt = 0;
    let highest = before;
    for await (const chunk of exec.stdout) {
      length += chunk.length;
      if (length - pausedAt > 5_000_000) {
        pausedAt = length;
        highest = Math.max(highest, measure());
        await delay(10);
      }
    }
    expect(length).toBe(total);
    expect(finished).toBe(true);
    expect((highest - before) / 1024 / 1024).toBeLessThan(32);
  });

  it('detaches from a command without ending it', async () => {
    const exec = await openExec(engine, id, { command: ['sleep', '321'] });
    const processes = async () => (await run(engine, id, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "')).stdout;
    await until('it runs', async () => (await processes()).includes('sleep 321'));
    exec.destroy();
    await delay(100);
    expect(await processes()).toContain('sleep 321');
  });

  it('ends a command with its container', async () => {
    const own = await launchContainer(engine, `test-${crypto.randomUUID()}`, bodyFor(real));
    const exec = await openExec(engine, own, { command: ['bash', '-c', 'echo up; sleep 100'] });
    const started = performance.now();
    let seen = '';
    for await (const chunk of exec.stdout) {
      seen += chunk;
      await engine.kill(own);
    }
    expect(seen).toBe('up\n');
    expect(performance.now() - started).toBeLessThan(90_000);
    await engine.remove(own);
  });
});
