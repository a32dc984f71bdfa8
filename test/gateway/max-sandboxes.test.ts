import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { ContainerSummary } from '../../src/backends/engine/engine.ts';
import { sleepMark } from '../contracts/sandbox/rig.ts';
import { describeBackend, processesWith, type TestEngine, withDocker } from '../engines.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';

const most = 2;
const chats = [1001, 1002, 1003, 1004, 1005];
const withinMs = 60_000;

await describeBackend('docker', (engine) => {
  it('runs at most gateway.max_sandboxes containers, with spares and those of an earlier run, and tells people their place', async () => {
    const program = await Program.start({
      backend: 'docker',
      config: {
        telegram: { allowed_users: chats.map(String) },
        terminal: { docker_image: engine.context.docker.image, warm_spares: 1 },
        gateway: { max_sandboxes: most },
      },
    });
    const count = watch(engine, program);
    onTestFinished(() => program.closeWithContainers());
    const say = (chat: number, text: string) =>
      program.api.world.says({ text, from: { id: chat, is_bot: false, first_name: `Chat ${chat}` } });
    const shows = (chat: number, what: string | RegExp) =>
      until(
        `${chat} is shown ${what}: ${program.texts(chat)} ${program.output}`,
        () => program.texts(chat).some((text) => text.match(what)),
        { withinMs },
      );

    const [busy, left] = [sleepMark(), sleepMark()];
    say(1001, '/run echo installed >/usr/local/kept; echo first');
    await shows(1001, /^first/m);
    for (const chat of chats.slice(1)) say(chat, `/run echo "I am ${chat}"`);
    for (const chat of chats.slice(1)) await shows(chat, `I am ${chat}`);
    say(1001, '/run cat /usr/local/kept');
    await shows(1001, /^installed/m);

    // All are in use.
    for (const chat of [1001, 1002]) say(chat, `/run echo begun; sleep ${busy}`);
    await until('both run', () => processesWith(busy).length === 2, { withinMs });
    say(1003, `/run echo third; sleep ${busy}`);
    await shows(1003, 'This session is next in the queue');
    say(1004, '/run echo fourth');
    await shows(1004, 'This session is number 2 in the queue');
    say(1001, '/stop');
    await shows(1003, 'It is the turn of this session');
    await shows(1004, 'This session is next in the queue');
    say(1002, '/stop');
    await shows(1004, /^fourth/m);

    // Of a program that was killed what was in the background is left, and what has it counts.
    say(1004, `/run setsid sleep ${left} & echo left`);
    await shows(1004, /^left/m);
    await program.restart();
    expect((await running(engine, program)).length).toBeGreaterThan(0);
    say(1005, '/run echo fifth');
    await shows(1005, /^fifth/m);
    expect(processesWith(left)).toHaveLength(1);
    say(1002, '/run echo second');
    await shows(1002, /^second/m);
    expect(processesWith(left)).toHaveLength(1);
    expect(await count.stop()).toBe(most);
  }, 300_000);
});

async function containers(engine: TestEngine, program: Program): Promise<ContainerSummary[]> {
  const installation = readFileSync(join(program.directory, 'installation'), 'utf8').trim();
  return await withDocker(engine.context, (docker) => docker.list({ 'hermetic.installation': installation }));
}

/** Those of sandboxes: what only looks whether the engine works has no name. */
async function running(engine: TestEngine, program: Program): Promise<ContainerSummary[]> {
  return (await containers(engine, program)).filter((one) => one.running && one.labels['hermetic.name'] !== undefined);
}

/** The most that ever ran at once. */
function watch(engine: TestEngine, program: Program): { stop(): Promise<number> } {
  let [highest, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) {
      highest = Math.max(highest, (await running(engine, program)).length);
      await sleep(20);
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return highest;
    },
  };
}
