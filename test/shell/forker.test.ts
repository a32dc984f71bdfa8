import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EndRecord } from '../../src/shell/end-channel.ts';
import { guestScript } from '../../src/shell/guest-scripts.ts';
import { EventChannel } from '../../src/shell/pipes/event-channel.ts';
import { Attachment, makeAttachmentPipes } from '../../src/shell/pipes/forker.ts';
import { openForWriting } from '../../src/shell/pipes/named-pipes.ts';
import { itNeeding } from '../needs.ts';

/** Of no one else: what a limit of processes counts. Each test has another, for what the one before left may still be dying. */
const firstUser = 1_952_073_541;

describe('a forker', () => {
  let run: string;
  let control: number;
  let forker: ChildProcess;
  const opened: { close(): void }[] = [];

  const pipe = (name: string) => join(run, 'a', name);
  const channel = (name: string) => {
    const made = new EventChannel(pipe(name));
    opened.push(made);
    return made;
  };
  const ask = (request: string) => writeSync(control, `\n${request}\n`);

  beforeEach(async () => {
    run = mkdtempSync(join(tmpdir(), 'hermetic-forker-'));
    chmodSync(run, 0o755);
    mkdirSync(join(run, 'a'));
    execFileSync('mkfifo', ['-m', '666', 'control', ...['alive', 'events', '0.end'].map((name) => `a/${name}`)], { cwd: run });
    writeFileSync(join(run, 'forker.bash'), await guestScript('forker'));
    control = openSync(join(run, 'control'), 'r+');
  });

  afterEach(() => {
    forker.kill('SIGKILL');
    for (const one of opened.splice(0)) one.close();
    closeSync(control);
    rmSync(run, { recursive: true });
  });

  it('ends the forker after its lease when its client died before it attached', async () => {
    forker = spawn('bash', [join(run, 'forker.bash'), run, '1'], { stdio: 'ignore' });
    const ended = once(forker, 'exit');
    // Nobody has the pipe `alive` open for writing, as after a SIGKILL.
    ask('attach a 1234567');
    expect(await ended).toEqual([0, null]);
  });

  /** One that can have so many processes, itself included. */
  const startLimited = (processes: number): ChildProcess => {
    const limited = `ulimit -u ${processes}; exec bash "$0" "$1" 1`;
    return spawn('setpriv', [`--reuid=${firstUser + processes}`, '--clear-groups', 'bash', '-c', limited, join(run, 'forker.bash'), run], {
      stdio: 'ignore',
    });
  };

  it('ends the forker soon when no client ever attaches', async () => {
    forker = spawn('bash', [join(run, 'forker.bash'), run, '600'], { stdio: 'ignore' });
    expect(await once(forker, 'exit')).toEqual([0, null]);
  });

  itNeeding(['root'], 'refuses a shell soon when there is no room for its process', async () => {
    // The one that watches over the attachment, and the one that would wait for the shell.
    forker = startLimited(3);
    const ended = once(forker, 'exit').then(() => 'the forker has ended');
    const attachment = await Attachment.open(run, await makeAttachmentPipes(run), ended);
    const record = Promise.withResolvers<EndRecord>();
    const begun = performance.now();
    const shell = attachment.spawn({ mode: 'warm', restore: '' }, record.resolve, (reason) => record.reject(new Error(reason)));
    expect(await record.promise).toEqual({ kind: 'no-room' });
    // Left alone, bash would have tried for 15 seconds.
    expect(performance.now() - begun).toBeLessThan(14_000);
    shell.release();
    await attachment.close();
  });

  itNeeding(['root'], 'survives a moment without room for a process and keeps its attachments', async () => {
    // Room for itself and for the one that watches over the attachment.
    forker = startLimited(2);
    const events = channel('events');
    const alive = openForWriting(pipe('alive'));
    const nudges = setInterval(() => writeSync(alive, '\n'), 200);
    opened.push({
      close: () => {
        clearInterval(nudges);
        closeSync(alive);
      },
    });
    const hello = events.expect('hello');
    ask('attach a 1234567');
    await hello;

    const refused = channel('0.end').expect('F');
    const killed = events.expect('killed 7');
    ask('spawn a 0 1234567000000000 warm 24 80');
    ask('kill a 1234567000000000 KILL 7');
    await refused;
    expect(await killed).toBe('0');

    // It still knows who is attached, and notices when nobody is.
    const ended = once(forker, 'exit');
    for (const one of opened.splice(0)) one.close();
    expect(await ended).toEqual([0, null]);
  });
});
