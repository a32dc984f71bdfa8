import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { judgeContextOf } from '../../src/app/judge-context.ts';
import { judge } from '../../src/bash-judge/index.ts';
import { collect } from '../contracts/sandbox/rig.ts';
import { describeBackend } from '../engines.ts';

await describeBackend('local', (engine) => {
  it('knows which processes a session started when it judges a signal by number', async () => {
    const spec = engine.spec();
    const sandbox = await engine.open(spec);
    const other = await engine.open(engine.spec());
    const started = async (place: typeof sandbox, command: string): Promise<number> =>
      Number((await collect(await place.exec({ command }))).stdout);
    const verdictOn = (command: string): string => {
      const action = { kind: 'command', command, cwd: sandbox.cwd } as const;
      const place = { backend: engine.backend, spec, sandbox };
      const context = judgeContextOf([action], place, { source: 'chat', role: 'user' }, { home: '/nonexistent' });
      return judge(action, context).kind;
    };
    const own = await started(sandbox, 'sleep 60 >/dev/null 2>&1 & echo $!');
    const nested = "setsid sh -c 'echo $$ >pid.new && mv pid.new pid; exec sleep 60 >/dev/null 2>&1'";
    const apart = await started(sandbox, `${nested} & until [ -s pid ]; do sleep 0.05; done; cat pid`);
    const foreign = await started(other, 'sleep 60 >/dev/null 2>&1 & echo $!');
    const ours = spawn('sleep', ['60'], { stdio: 'ignore' });
    await once(ours, 'spawn');
    expect([own, apart, foreign, ours.pid, process.pid, process.ppid].map((pid) => verdictOn(`kill -TERM ${pid}`))).toEqual([
      'allow',
      'allow',
      'ask',
      'ask',
      'deny',
      'deny',
    ]);
    expect(verdictOn(`kill ${own} ${foreign}`)).toBe('ask');
    const disguised = [`k\\ill ${process.pid}`, `k''ill ${process.pid}`, `x=kil; "$x"l ${process.pid}`];
    expect(disguised.map(verdictOn)).toEqual(['deny', 'deny', 'deny']);
    const threads = readdirSync('/proc/self/task').map((thread) => verdictOn(`kill ${thread}`));
    expect(new Set(threads)).toEqual(new Set(['deny']));
    ours.kill('SIGKILL');
    await Promise.all([sandbox.destroy(), other.destroy()]);
  });
});
