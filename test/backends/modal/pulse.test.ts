import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { memoryStateStore } from '../../../src/shell/state-store.ts';
import type { Attach } from '../../../src/shell/streams/attached-command.ts';
import { attachByStreams } from '../../../src/shell/streams/stream-spawner.ts';
import { sleepMark } from '../../contracts/sandbox/rig.ts';
import { processesWith } from '../../engines.ts';
import { describeNeeding } from '../../needs.ts';
import { until } from '../../until.ts';
import { quietly, startModal, wishFor } from './rig.ts';

describeNeeding(['machines'], 'the pulse of a program at Modal', async () => {
  const { fake, provider } = await startModal();

  it('a program that dies leaves no running command, no stream and no tether, and keeps what runs in the background', async () => {
    const reference = await provider.create(wishFor(), quietly);
    const attach = provider.attach(reference);
    let isDead = false;
    // Modal does not end the input of a process when the program that wrote to it has died.
    const untilDeath: Attach = async (command) => {
      const attached = await attach(command);
      const stdin = new Writable({ write: (chunk, _, done) => void (isDead ? done() : attached.stdin.write(chunk, done)) });
      return { ...attached, stdin, destroy: () => undefined };
    };
    const sandbox = await attachByStreams(
      {
        name: 'test',
        workdir: '/workspace',
        limits: { isNew: true },
        ended: new Promise(() => undefined),
        attach: untilDeath,
        keep: 'background',
        processes: 'own',
        pulse: { everyMs: 200, silenceSeconds: 3 },
        end: async () => undefined,
        close: async () => undefined,
        stop: async () => undefined,
        destroy: async () => undefined,
      },
      memoryStateStore(),
    );
    const [background, running] = [sleepMark(), sleepMark()];
    expect(await (await sandbox.exec({ command: `setsid sleep ${background} >/dev/null 2>&1 & disown` })).exit).toMatchObject({ code: 0 });
    await sandbox.exec({ command: `sleep ${running}; echo never` });
    await until('both run', () => processesWith(background).length === 1 && processesWith(running).length === 1);
    isDead = true;
    await until('the running command is dead', () => processesWith(running).length === 0);
    const execs = [...(fake.sandboxes.get(reference)?.execs.values() ?? [])];
    await Promise.all(execs.map(({ process }) => process.exited));
    expect(processesWith(background)).toHaveLength(1);
    expect(await provider.state(reference)).toBe('running');
    await provider.remove(reference);
    expect(processesWith(background)).toHaveLength(0);
  });
});
