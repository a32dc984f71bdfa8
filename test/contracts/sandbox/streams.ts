import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Exit } from '../../../src/core/sandbox.ts';
import type { TestEngine } from '../../engines.ts';
import { until } from '../../until.ts';
import { collect, follow, type Rig, useRig } from './rig.ts';

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, index) => index));

export function streamsContract(engine: TestEngine): void {
  const rig = useRig(engine);

  describe('output', () => {
    it('keeps standard output and standard error apart', async () => {
      expect(await rig.run('echo out; echo err >&2; echo out again')).toMatchObject({ stdout: 'out\nout again\n', stderr: 'err\n' });
    });

    it('delivers output while the command runs', async () => {
      const handle = await rig.start('echo first; read line; echo "then $line" >&2; read line; echo "last $line"', { stdin: 'open' });
      const output = follow(handle);
      await output.until(/first\n/);
      await handle.write('one\n');
      await output.until(/then one\n/);
      await handle.write('two\n');
      expect(await output.rest()).toBe('first\nthen one\nlast two\n');
    });

    it('delivers both streams in the order of writing when the reader follows', async () => {
      const handle = await rig.start('for i in 1 2 3 4; do echo "o$i"; read; echo "e$i" >&2; read; done', { stdin: 'open' });
      const output = follow(handle);
      for (const word of ['o1', 'e1', 'o2', 'e2', 'o3', 'e3', 'o4', 'e4']) {
        await output.until(new RegExp(`${word}\n$`));
        await handle.write('\n');
      }
      expect(await output.rest()).toBe('o1\ne1\no2\ne2\no3\ne3\no4\ne4\n');
    });

    it('delivers every byte of output unchanged, even without a last newline', async () => {
      const escaped = [...everyByte].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
      const { bytes } = await rig.run(`printf '${escaped}'`);
      expect(bytes).toEqual(everyByte);
    });

    it('delivers the bytes of a split character without loss', async () => {
      const handle = await rig.start(`printf '\\342'; read; printf '\\202'; read; printf '\\254\\n'`, { stdin: 'open' });
      const chunks = handle.output[Symbol.asyncIterator]();
      const parts: Buffer[] = [];
      for (let byte = 0; byte < 3; byte += 1) {
        parts.push((await chunks.next()).value?.data ?? Buffer.alloc(0));
        await handle.write('\n');
      }
      expect(parts[0]).toEqual(Buffer.from([0xe2]));
      expect(Buffer.concat(parts).toString()).toBe('€\n');
    });

    it('delivers bytes that are not UTF-8 unchanged', async () => {
      const { bytes } = await rig.run(`printf 'a\\377\\376\\300\\200b'`);
      expect(bytes).toEqual(Buffer.from([0x61, 0xff, 0xfe, 0xc0, 0x80, 0x62]));
    });

    it('delivers a large output completely when the command ends right after it', async () => {
      for (const code of [0, 7]) {
        const { bytes, stderr, exit } = await rig.run(`head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2; exit ${code}`);
        expect([bytes.length, stderr.length, exit]).toEqual([3_000_000, 200_000, { kind: 'exited', code }]);
      }
    });

    it('keeps the outputs of twenty simultaneous commands apart', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, index) => rig.run(`for i in 1 2 3; do echo ${index}; done`)));
      expect(results.map(({ stdout }) => stdout)).toEqual(results.map((_, index) => `${index}\n`.repeat(3)));
    });

    it('pauses a command while its output is unread, and resumes it afterwards', async () => {
      const handle = await rig.start('for ((i = 1; ; i++)); do head -c 65536 /dev/zero; echo $i >progress; done');
      const progress = async (): Promise<number> => Number(await rig.output('cat progress 2>/dev/null || echo 0'));
      const stopped = await untilStill('the command makes no progress', progress);
      expect(stopped * 65_536).toBeLessThan(engine.maxBytesAhead);
      const chunks = handle.output[Symbol.asyncIterator]();
      await until('it goes on', async () => {
        for (let chunk = 0; chunk < 64; chunk += 1) await chunks.next();
        return (await progress()) > stopped + 10;
      });
      await handle.kill('KILL');
    });

    // Of several, because whether something is still on its way when a command ends is a matter of luck.
    it('delivers the end of four outputs whose readers leave it unread for a while after the command', async () => {
      const results = await Promise.all(['a', 'b', 'c', 'd'].map((name) => readLate(rig, name)));
      for (const { bytes, printed, exit } of results) expect([bytes, exit]).toEqual([printed, { kind: 'exited', code: 0 }]);
    });

    it('lets a command finish after its reader has left', async () => {
      const handle = await rig.start('head -c 5000000 /dev/zero; echo done >left');
      for await (const _ of handle.output) break;
      expect(await handle.exit).toEqual({ kind: 'exited', code: 0 });
      expect(await rig.output('cat left')).toBe('done\n');
    });

    it('reports the exit of a command whose output is unread', async () => {
      expect(await (await rig.start('echo unread; exit 5')).exit).toEqual({ kind: 'exited', code: 5 });
    });

    it.each(['E 0', 'S 0', 'X 0', 'R', 'F', 'D', 'T /dev/null', 'killed 1 0'])(
      'passes %j through as output, not as a record of its own',
      async (record) => {
        const command = `for i in 1 2 3; do echo '${record}'; echo '${record}' >&2; done; exit 3`;
        const lines = `${record}\n`.repeat(3);
        expect(await rig.run(command)).toMatchObject({ stdout: lines, stderr: lines, exit: { kind: 'exited', code: 3 } });
      },
    );

    it('runs a command once when its output says that the sandbox is not running', async () => {
      const command = 'echo once >>times; echo "Error: No such container: x is not running" | tee /dev/stderr; exit 1';
      expect((await rig.run(command)).exit).toEqual({ kind: 'exited', code: 1 });
      expect(await rig.output('cat times')).toBe('once\n');
    });
  });

  describe('input', () => {
    it('ends the input at once when none is given', async () => {
      expect(await rig.run('cat; read line; echo $?')).toMatchObject({ stdout: '1\n', exit: { kind: 'exited', code: 0 } });
    });

    it('passes every byte of input and ends it when it is closed', async () => {
      const handle = await rig.start('cat', { stdin: 'open' });
      await handle.write(everyByte);
      await handle.write('text ü\n');
      handle.closeStdin();
      expect((await collect(handle)).bytes).toEqual(Buffer.concat([everyByte, Buffer.from('text ü\n')]));
    });

    it('accepts input that is written and closed before the command has started', async () => {
      const handle = await rig.start('sleep 0.05; read first; echo "$first"; cat', { stdin: 'open' });
      void handle.write('one\ntwo\n');
      handle.closeStdin();
      expect((await collect(handle)).stdout).toBe('one\ntwo\n');
    });

    it('shares the input between the commands of a script, as any shell does', async () => {
      const handle = await rig.start('read a; read b; echo "$b $a"; wc -c', { stdin: 'open' });
      await handle.write('one\ntwo\nrest');
      handle.closeStdin();
      expect((await collect(handle)).stdout.split(/\s+/)).toEqual(['two', 'one', '4', '']);
    });

    it('passes 5 MB of input unchanged through a program', async () => {
      const data = Buffer.alloc(5_000_000, everyByte);
      const handle = await rig.start('cat', { stdin: 'open' });
      const written = handle.write(data).then(() => handle.closeStdin());
      const { bytes } = await collect(handle);
      await written;
      const hash = (buffer: Buffer): string => createHash('sha256').update(buffer).digest('hex');
      expect([bytes.length, hash(bytes)]).toEqual([data.length, hash(data)]);
    });

    it('lets a command end that leaves most of its input unread', async () => {
      const handle = await rig.start('head -c 10; exit 6', { stdin: 'open' });
      const written = handle.write(Buffer.alloc(5_000_000, 'x'));
      expect(await collect(handle)).toMatchObject({ stdout: 'xxxxxxxxxx', exit: { kind: 'exited', code: 6 } });
      await written;
      await handle.write('too late');
      handle.closeStdin();
    });
  });
}

/** Reads an output that fills every buffer on the way to its end, with a pause before the last of it. */
async function readLate(rig: Rig, name: string): Promise<{ bytes: number; printed: number; exit: Exit }> {
  const command = `for ((i = 1; ; i++)); do head -c 16384 /dev/zero; echo $i >printed-${name}; [[ ! -e enough-${name} ]] || break; done; echo >ended-${name}`;
  const handle = await rig.start(command, { stdin: 'open' });
  handle.closeStdin();
  const printed = async (): Promise<number> => Number(await rig.output(`cat printed-${name} 2>/dev/null || echo 0`));
  await untilStill('every buffer on the way is full', printed);
  await rig.output(`echo >enough-${name}`);
  const chunks = handle.output[Symbol.asyncIterator]();
  let bytes = 0;
  const takeUpTo = async (total: number): Promise<void> => {
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      bytes += next.value.data.length;
      if (bytes >= total) return;
    }
  };
  await until('the command has printed the last of it', async () => {
    await takeUpTo(bytes + 16_384);
    return await rig.succeeds(`test -e ended-${name}`);
  });
  // For longer than an engine waits for the streams of a process that has ended.
  await sleep(4_000);
  await takeUpTo(Number.POSITIVE_INFINITY);
  return { bytes, printed: 16_384 * (await printed()), exit: await handle.exit };
}

/** A count that was the same twice in a row. */
async function untilStill(what: string, count: () => Promise<number>): Promise<number> {
  let before = -1;
  const look = async (): Promise<number | undefined> => {
    const now = await count();
    const stands = now > 0 && now === before;
    before = now;
    return stands ? now : undefined;
  };
  return await until(what, look, { everyMs: 150 });
}
